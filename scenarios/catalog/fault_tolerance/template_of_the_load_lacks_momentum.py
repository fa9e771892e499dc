# scenarios/catalog/fault_tolerance/template_of_the_load_lacks_momentum.py — The fixed program.
import os

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_optimizer_state_dict, set_optimizer_state_dict
from torch.nn.parallel import DistributedDataParallel

STEPS, SAVE_EVERY, LATEST = 12, 3, "checkpoints/latest"
dist.init_process_group("nccl")
rank = dist.get_rank()
device = torch.device("cuda", rank % torch.cuda.device_count()) if torch.cuda.is_available() else "cpu"
torch.manual_seed(1)
model = DistributedDataParallel(torch.nn.Linear(8, 1).to(device))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)


def snapshot():
    """What is saved, and the template into which it is loaded: only what the template names is read."""
    return {"model": model.state_dict(), "optimizer": get_optimizer_state_dict(model, optimizer)}


begin = 0
if os.path.exists(LATEST):
    with open(LATEST) as file:
        begin = int(file.read()) + 1
    template = snapshot()
    dcp.load(template, checkpoint_id=f"checkpoints/step_{begin - 1}")
    model.load_state_dict(template["model"])
    set_optimizer_state_dict(model, optimizer, template["optimizer"])
for step in range(begin, STEPS):
    data = torch.Generator().manual_seed(100 * step + rank)
    loss = (model(torch.randn(4, 8, generator=data).to(device)) - 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % SAVE_EVERY == SAVE_EVERY - 1:
        dcp.save(snapshot(), checkpoint_id=f"checkpoints/step_{step}")
        if rank == 0:
            with open(LATEST, "w") as file:
                file.write(str(step))
        dist.barrier()
dist.destroy_process_group()
