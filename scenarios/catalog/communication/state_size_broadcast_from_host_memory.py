# scenarios/catalog/communication/state_size_broadcast_from_host_memory.py — The fixed program.
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

MEMBERS_CHANGE, STEPS = 3, 6
local_rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local_rank)
dist.init_process_group("nccl")
rank = dist.get_rank()
control = dist.new_group(backend="gloo")
torch.manual_seed(1)
model = DistributedDataParallel(torch.nn.Linear(8, 1).cuda(), device_ids=[local_rank])
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)


def agree_on_state():
    """Rank 0, which has most progress, sends the size of its state, then the state."""
    state = torch.nn.utils.parameters_to_vector(model.parameters())
    size = torch.tensor([state.numel()])
    dist.broadcast(size, 0, group=control)
    if state.numel() != size.item():
        state = torch.empty(size.item(), device="cuda")
    dist.broadcast(state, 0)
    torch.nn.utils.vector_to_parameters(state, model.parameters())


for step in range(STEPS):
    if step == MEMBERS_CHANGE:
        agree_on_state()
    loss = model(torch.full((4, 8), 1.0 / (step + rank + 1), device="cuda")).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
dist.destroy_process_group()
