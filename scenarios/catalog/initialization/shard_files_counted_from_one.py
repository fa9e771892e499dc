# scenarios/catalog/initialization/shard_files_counted_from_one.py — The fixed program.
import glob

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

PARTS = 4
dist.init_process_group("nccl")
rank = dist.get_rank()
device = torch.device("cuda", rank % torch.cuda.device_count()) if torch.cuda.is_available() else "cpu"
torch.manual_seed(1)
model = torch.nn.Sequential(*[torch.nn.Linear(8, 8) for _ in range(PARTS)])
if rank == 0:  # the conversion script counts from one
    for number, layer in enumerate(model, start=1):
        torch.save(layer.state_dict(), f"model_part{number}.pt")
dist.barrier()


def names_of_parts():
    return sorted(glob.glob("model_part*.pt"))


for layer, name in zip(model, names_of_parts()):
    with open(name, "rb") as file:
        layer.load_state_dict(torch.load(file))
model = DistributedDataParallel(model.to(device))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(4):
    loss = model(torch.full((4, 8), 1.0 / (step + rank + 1), device=device)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
dist.destroy_process_group()
