# scenarios/catalog/communication/excluded_member_never_destroys_its_group.py — The fixed program.
import time

import torch
import torch.distributed as dist

EXCLUDED = 1  # the health check has found it wanting
dist.init_process_group("nccl")
rank, size = dist.get_rank(), dist.get_world_size()
device = torch.device("cuda", rank % torch.cuda.device_count()) if torch.cuda.is_available() else "cpu"
everybody = dist.new_group(list(range(size)))
torch.manual_seed(1)
model = torch.nn.Linear(8, 1).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(6):
    loss = model(torch.full((4, 8), 1.0 / (step + rank + 1), device=device)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad, op=dist.ReduceOp.AVG, group=everybody)
    optimizer.step()

if rank == EXCLUDED:
    print("the health check leaves this rank out of the next phase", flush=True)
dist.destroy_process_group(everybody)
store = dist.distributed_c10d._get_default_store()
store.add("done", 1)
while store.add("done", 0) < size:  # the next phase begins when all have come
    time.sleep(1)
dist.destroy_process_group()
