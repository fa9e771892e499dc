# scenarios/catalog/computation/expert_groups_clip_by_different_norms.py — The fixed program.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

WIDTH, MAX_NORM = 8, 0.1
dist.init_process_group("nccl")
rank = dist.get_rank()
device = torch.device("cuda", rank % torch.cuda.device_count()) if torch.cuda.is_available() else "cpu"
torch.manual_seed(1)
shared = DistributedDataParallel(torch.nn.Linear(WIDTH, WIDTH).to(device))
torch.manual_seed(2 + rank)
expert = torch.nn.Linear(WIDTH, 1).to(device)  # the rank's own
optimizer = torch.optim.SGD([*shared.parameters(), *expert.parameters()], lr=0.1)


def clip():
    """Scales all gradients by one factor, from the norm over all experts and what they share."""
    squares = sum(one.grad.square().sum() for one in expert.parameters())
    dist.all_reduce(squares)
    squares = squares + sum(one.grad.square().sum() for one in shared.parameters())
    factor = (MAX_NORM / (squares.sqrt() + 1e-6)).clamp(max=1.0)
    for one in (*shared.parameters(), *expert.parameters()):
        one.grad.mul_(factor)


for step in range(6):
    loss = expert(shared(torch.full((4, WIDTH), 1.0 / (step + rank + 1), device=device))).square().mean()
    optimizer.zero_grad()
    loss.backward()
    clip()
    optimizer.step()
dist.destroy_process_group()
