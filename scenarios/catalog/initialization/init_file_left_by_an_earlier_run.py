# scenarios/catalog/initialization/init_file_left_by_an_earlier_run.py — The fixed program.
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

attempt = os.environ["TORCHELASTIC_RESTART_COUNT"]
meeting = os.path.abspath(f"dist_init_{attempt}")
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
dist.init_process_group("nccl", init_method=f"file://{meeting}", rank=rank, world_size=size)
device = torch.device("cuda", rank % torch.cuda.device_count()) if torch.cuda.is_available() else "cpu"
torch.manual_seed(1)
model = DistributedDataParallel(torch.nn.Linear(8, 1).to(device))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(6):
    loss = model(torch.full((4, 8), 1.0 / (step + rank + 1), device=device)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
dist.destroy_process_group()
