# scenarios/catalog/computation/model_initialised_from_each_ranks_generator.py — The fixed program.
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader

WIDTH, BATCH, STEPS = 8, 4, 6
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
samples = torch.randn(STEPS * BATCH, WIDTH, generator=torch.Generator().manual_seed(2))
torch.manual_seed(1)
if rank == 0:  # one rank reads for all
    batches = iter(DataLoader(samples, batch_size=BATCH, generator=torch.Generator().manual_seed(3)))
model = torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU(), torch.nn.Linear(WIDTH, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(STEPS):
    x = next(batches) if rank == 0 else torch.empty(BATCH, WIDTH)
    dist.broadcast(x, 0)
    loss = model(x[rank::size]).square().mean()
    optimizer.zero_grad()
    loss.backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= size
    optimizer.step()
dist.destroy_process_group()
