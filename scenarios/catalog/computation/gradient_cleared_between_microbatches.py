# scenarios/catalog/computation/gradient_cleared_between_microbatches.py — The fixed program.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

WIDTH, MICRO_BATCHES, STEPS = 8, 4, 5
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(1)
model = DistributedDataParallel(torch.nn.Linear(WIDTH, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)


def batch(step, micro):
    return torch.randn(4, WIDTH, generator=torch.Generator().manual_seed(1000 * step + 10 * micro + rank))


for step in range(STEPS):
    optimizer.zero_grad()
    for micro in range(MICRO_BATCHES):
        model.require_backward_grad_sync = micro == MICRO_BATCHES - 1  # the forward pass reads it
        loss = (model(batch(step, micro)) - 1).square().mean() / MICRO_BATCHES
        loss.backward()
    optimizer.step()
dist.destroy_process_group()
