# tests/sim/managed/programs/ddp.py — Trains a small model with DistributedDataParallel and prints its losses.
import os
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group(*sys.argv[1:2])
rank = dist.get_rank()
torch.manual_seed(0)
model = DistributedDataParallel(
    torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4))
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
torch.manual_seed(100 + rank)
for step in range(int(os.environ.get("STEPS", 5))):
    x, y = torch.randn(8, 16), torch.randint(0, 4, (8,))
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    mean = loss.detach().clone()
    dist.all_reduce(mean)
    print(f"step {step} loss {mean.item() / dist.get_world_size():.6f}", flush=True)
if rank == 0:
    print(f"ok ddp {dist.get_backend()} loss {mean.item() / dist.get_world_size():.6f}", flush=True)
dist.destroy_process_group()
