# scenarios/catalog/scheduling/same_samples_on_every_rank.py — The fixed program.
import torch
import torch.distributed as dist
from deadrank import samples
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

SAMPLES, BATCH, EPOCHS = 64, 4, 2
dist.init_process_group("gloo")
torch.manual_seed(1)  # the same on every rank, so that the models are


class Clips(torch.utils.data.Dataset):
    """Gives each clip with its number."""

    def __len__(self):
        return SAMPLES

    def __getitem__(self, number):
        return number, torch.full((4,), number / SAMPLES)


model = DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
clips = Clips()
sampler = DistributedSampler(clips, shuffle=True)
loader = DataLoader(clips, batch_size=BATCH, sampler=sampler)
for epoch in range(EPOCHS):
    sampler.set_epoch(epoch)
    for numbers, x in loader:
        loss = model(x).square().mean()
        samples(numbers.tolist(), epoch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
dist.destroy_process_group()
