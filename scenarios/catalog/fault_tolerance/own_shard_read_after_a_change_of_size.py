# scenarios/catalog/fault_tolerance/own_shard_read_after_a_change_of_size.py — The fixed program.
import glob

import torch
import torch.distributed as dist

SHARDS, PARAMETERS, STEPS = 4, 8, 4  # shards of the job that saved
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
layers = {str(number): torch.nn.Linear(4, 4, bias=False) for number in range(PARAMETERS)}
own = torch.nn.ModuleDict({name: layers[name] for name in list(layers)[rank::size]})  # those that this rank holds


def saved_by_a_larger_job():
    """Leaves the files of a job of twice as many ranks, each with the parameters of one of them."""
    generator = torch.Generator().manual_seed(5)
    for shard in range(SHARDS):
        names = [f"{name}.weight" for name in list(layers)[shard::SHARDS]]
        torch.save({name: torch.randn(4, 4, generator=generator) / 2 for name in names}, f"rank_{shard}.pt")


def load():
    """What this rank holds, from all files that have some of it."""
    found = {}
    for path in sorted(glob.glob("rank_*.pt")):
        found |= torch.load(path)
    own.load_state_dict({name: one for name, one in found.items() if name in own.state_dict()})


if rank == 0:
    saved_by_a_larger_job()
dist.barrier()
load()
for number, layer in enumerate(layers.values()):
    dist.broadcast(layer.weight.data, number % size)
model = torch.nn.Sequential(*layers.values())
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(STEPS):
    loss = model(torch.full((2, 4), 1.0 / (step + rank + 1))).square().mean()
    optimizer.zero_grad()
    loss.backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
    optimizer.step()
dist.destroy_process_group()
