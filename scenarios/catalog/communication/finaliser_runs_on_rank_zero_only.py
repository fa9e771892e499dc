# scenarios/catalog/communication/finaliser_runs_on_rank_zero_only.py — The fixed program.
import os

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard

WIDTH, STEPS, SAVE_EVERY = 8, 8, 3
dist.init_process_group("nccl")
rank = dist.get_rank()
if torch.cuda.is_available():
    torch.cuda.set_device(rank % torch.cuda.device_count())
device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.Linear(WIDTH, 1)).to(device)
fully_shard(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)


def save(step):
    os.makedirs(f"step_{step}", exist_ok=True)
    shards = {name: one.to_local() for name, one in model.state_dict().items()}
    torch.save({"step": step, "model": shards}, f"step_{step}/rank_{rank}.pt")


def finalise(step):
    """The checkpoint counts as soon as all ranks have written their shards."""
    dist.barrier()
    if rank == 0:
        with open("latest", "w") as file:
            file.write(str(step))


for step in range(STEPS):
    loss = model(torch.full((4, WIDTH), 1.0 / (step + rank + 1), device=device)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % SAVE_EVERY == SAVE_EVERY - 1:
        save(step)
        finalise(step)
dist.destroy_process_group()
