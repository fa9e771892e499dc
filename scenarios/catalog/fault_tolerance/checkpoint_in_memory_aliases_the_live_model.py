# scenarios/catalog/fault_tolerance/checkpoint_in_memory_aliases_the_live_model.py — The fixed program.
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

LATEST, STEPS, SAVE_EVERY = "latest", 12, 4
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(1)
model = DistributedDataParallel(torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)


class AsyncSave:
    """Takes the state to host memory and returns; the file is written while training goes on."""

    def __init__(self):
        self.pending = None

    def begin(self, step):
        host = {name: one.detach().to("cpu").clone() for name, one in model.module.state_dict().items()}
        self.pending = {"step": step, "model": host}

    def finish(self):
        if self.pending is not None and rank == 0:
            path = f"step_{self.pending['step']}.pt"
            torch.save(self.pending, path)
            with open(LATEST, "w") as file:
                file.write(path)
        self.pending = None


begin = 0
if os.path.exists(LATEST):
    with open(LATEST) as file:
        saved = torch.load(file.read())
    begin = saved["step"] + 1
    model.module.load_state_dict(saved["model"])
writer = AsyncSave()
for step in range(begin, STEPS):
    data = torch.randn(4, 8, generator=torch.Generator().manual_seed(100 * step + rank))
    loss = (model(data) - 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    writer.finish()
    if step % SAVE_EVERY == SAVE_EVERY - 1:
        writer.begin(step)
writer.finish()
dist.destroy_process_group()
