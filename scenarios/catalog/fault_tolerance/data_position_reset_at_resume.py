# scenarios/catalog/fault_tolerance/data_position_reset_at_resume.py — The fixed program.
import os

import torch
import torch.distributed as dist
from deadrank import samples
from torch.nn.parallel import DistributedDataParallel

STEPS, SAVE_EVERY, SAMPLES, BATCH, LATEST = 12, 3, 128, 2, "latest"
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()


class Sampler:
    """Deals batches out to ranks, in one shuffled order."""

    def __init__(self):
        self.order = torch.randperm(SAMPLES, generator=torch.Generator().manual_seed(3)).tolist()
        self.position = 0

    def next_batch(self):
        begin = (self.position * size + rank) * BATCH
        self.position += 1
        return self.order[begin : begin + BATCH]

    def state_dict(self):
        return {"position": self.position}

    def load_state_dict(self, state):
        self.position = state["position"]


torch.manual_seed(1)
model = DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
sampler, begin = Sampler(), 0
if os.path.exists(LATEST):
    with open(LATEST) as file:
        saved = torch.load(file.read())
    begin = saved["step"] + 1
    model.load_state_dict(saved["model"])
    sampler.load_state_dict(saved["sampler"])
for step in range(begin, STEPS):
    batch = sampler.next_batch()
    loss = model(torch.tensor([[number / SAMPLES] * 4 for number in batch])).square().mean()
    samples(batch)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % SAVE_EVERY == SAVE_EVERY - 1:
        if rank == 0:
            state = {"step": step, "model": model.state_dict(), "sampler": sampler.state_dict()}
            torch.save(state, f"step_{step}.pt")
            with open(LATEST, "w") as file:
                file.write(f"step_{step}.pt")
        dist.barrier()
dist.destroy_process_group()
