# scenarios/catalog/communication/subgroups_keep_the_default_timeout.py — The fixed program.
import time
from datetime import timedelta

import torch
import torch.distributed as dist

TIMEOUT = timedelta(hours=2)
dist.init_process_group("nccl", timeout=TIMEOUT)
rank = dist.get_rank()
device = torch.device("cuda", rank % torch.cuda.device_count()) if torch.cuda.is_available() else "cpu"
data_group = dist.new_group(list(range(dist.get_world_size())), timeout=TIMEOUT)
torch.manual_seed(1)
model = torch.nn.Linear(8, 1).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

dist.barrier(group=data_group)  # all have met before the long work begins
if rank == 0:  # one process packs the data set
    for part in range(25):
        time.sleep(60)
dist.barrier(group=data_group)
for step in range(5):
    loss = model(torch.full((4, 8), 1.0 / (step + rank + 1), device=device)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad, op=dist.ReduceOp.AVG, group=data_group)
    optimizer.step()
dist.destroy_process_group()
