# scenarios/catalog/computation/gradient_cleared_between_microbatches.py — The fixed program.
import torch
import torch.distributed as dist
from deadrank import check
from torch.nn.parallel import DistributedDataParallel

WIDTH, MICRO_BATCHES, STEPS = 8, 4, 5
torch.set_default_dtype(torch.float64)
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(1)
model = DistributedDataParallel(torch.nn.Linear(WIDTH, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)


def batch(step, micro, of):
    return torch.randn(4, WIDTH, generator=torch.Generator().manual_seed(1000 * step + 10 * micro + of))


def gradient_of_the_whole_batch(step):
    """Of all samples of all ranks, computed at once."""
    x = torch.cat([batch(step, micro, of) for micro in range(MICRO_BATCHES) for of in range(size)])
    weights = model.module.weight.detach().requires_grad_()
    loss = (torch.nn.functional.linear(x, weights, model.module.bias.detach()) - 1).square().mean()
    return torch.autograd.grad(loss, weights)[0]


for step in range(STEPS):
    optimizer.zero_grad()
    for micro in range(MICRO_BATCHES):
        model.require_backward_grad_sync = micro == MICRO_BATCHES - 1  # before the forward pass, which asks for it
        loss = (model(batch(step, micro, rank)) - 1).square().mean() / MICRO_BATCHES
        loss.backward()
    check("norm of the gradient", model.module.weight.grad.norm(), gradient_of_the_whole_batch(step).norm())
    optimizer.step()
dist.destroy_process_group()
