# scenarios/catalog/initialization/rank_computed_without_the_node_number.py — The fixed program.
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

gpus, local_rank = int(os.environ["LOCAL_WORLD_SIZE"]), int(os.environ["LOCAL_RANK"])
node = int(os.environ["GROUP_RANK"])
dist.init_process_group("nccl", rank=node * gpus + local_rank, world_size=2 * gpus)
rank = dist.get_rank()
device = torch.device("cuda", rank % torch.cuda.device_count()) if torch.cuda.is_available() else "cpu"
torch.manual_seed(1)
model = DistributedDataParallel(torch.nn.Linear(8, 1).to(device))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(4):
    loss = model(torch.full((4, 8), 1.0 / (step + rank + 1), device=device)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
dist.destroy_process_group()
