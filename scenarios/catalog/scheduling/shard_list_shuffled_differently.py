# scenarios/catalog/scheduling/shard_list_shuffled_differently.py — The fixed program.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

SAMPLES, BATCH, EPOCHS = 64, 4, 2
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
SEED = 1  # of the whole job
torch.manual_seed(SEED)
model = DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
data = TensorDataset(torch.randn(SAMPLES, 4, generator=torch.Generator().manual_seed(2)))
sampler = DistributedSampler(data, seed=SEED)  # all ranks shuffle alike, and each takes its part
loader = DataLoader(data, batch_size=BATCH, sampler=sampler)
for epoch in range(EPOCHS):
    sampler.set_epoch(epoch)
    for (x,) in loader:
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
dist.destroy_process_group()
