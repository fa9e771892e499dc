# scenarios/catalog/initialization/device_index_from_global_rank.py — The fixed program.
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

device = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(device)
dist.init_process_group("nccl")
rank = dist.get_rank()
torch.manual_seed(1)
model = DistributedDataParallel(torch.nn.Linear(8, 1).cuda(), device_ids=[device])
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(4):
    loss = model(torch.full((4, 8), 1.0 / (step + rank + 1), device="cuda")).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
dist.destroy_process_group()
