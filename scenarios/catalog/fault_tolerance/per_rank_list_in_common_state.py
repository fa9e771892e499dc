# scenarios/catalog/fault_tolerance/per_rank_list_in_common_state.py — The fixed program.
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

STEPS, SAVE_EVERY, LATEST = 12, 3, "latest"
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(1)
layers = [torch.nn.Linear(16, 8), torch.nn.LayerNorm(8), torch.nn.Linear(8, 1)]
model = DistributedDataParallel(torch.nn.Sequential(*layers))
parameters = list(model.parameters())
optimizer = torch.optim.SGD(parameters, lr=0.05, momentum=0.9)


def held():
    """Which parameters lie in the rank's slice of the flat buffer, which is cut into slices of equal length."""
    length, begin, found = -(-sum(one.numel() for one in parameters) // size), 0, []
    for number, one in enumerate(parameters):
        if begin < (rank + 1) * length and begin + one.numel() > rank * length:
            found.append(number)
        begin += one.numel()
    return found


def param_state():
    return [{"number": number, "padding": False} for number in held()]


def merge(ours, theirs, place):
    """Two states that describe one thing."""
    if len(ours) != len(theirs):
        lengths = f"({len(ours)} and {len(theirs)}, encountered at level {place})"
        raise ValueError(f"Cannot merge two lists with different lengths {lengths}")
    return [one | other for one, other in zip(ours, theirs, strict=True)]


def save(step):
    os.makedirs(f"step_{step}", exist_ok=True)
    own = {"momentum": [optimizer.state[one]["momentum_buffer"] for one in parameters], "param_state": param_state()}
    torch.save(own, f"step_{step}/rank_{rank}.pt")
    if rank == 0:
        torch.save({"step": step, "model": model.state_dict()}, f"step_{step}/common.pt")
        with open(LATEST, "w") as file:
            file.write(str(step))
    dist.barrier()


def load(step):
    common, own = torch.load(f"step_{step}/common.pt"), torch.load(f"step_{step}/rank_{rank}.pt")
    model.load_state_dict(common["model"])
    merge(own["param_state"], param_state(), ("optimizer", 0, "param_state"))
    for one, momentum in zip(parameters, own["momentum"], strict=True):
        optimizer.state[one]["momentum_buffer"] = momentum
    return step + 1


begin = 0
if os.path.exists(LATEST):
    with open(LATEST) as file:
        begin = load(int(file.read()))
for step in range(begin, STEPS):
    data = torch.randn(4, 16, generator=torch.Generator().manual_seed(100 * step + rank))
    loss = (model(data) - 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % SAVE_EVERY == SAVE_EVERY - 1:
        save(step)
dist.destroy_process_group()
