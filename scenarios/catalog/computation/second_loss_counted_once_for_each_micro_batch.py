# scenarios/catalog/computation/second_loss_counted_once_for_each_micro_batch.py — The fixed program.
import torch
import torch.distributed as dist
from deadrank import check
from torch.nn.parallel import DistributedDataParallel

WIDTH, EXPERTS, MICRO_BATCHES, STEPS, BALANCE = 8, 4, 4, 4, 0.05
torch.set_default_dtype(torch.float64)
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()


class Mixture(torch.nn.Module):
    """Returns its output, and the loss that keeps its experts equally busy."""

    def __init__(self):
        super().__init__()
        self.router = torch.nn.Linear(WIDTH, EXPERTS)
        self.experts = torch.nn.Linear(WIDTH, EXPERTS)

    def forward(self, x):
        shares = self.router(x).softmax(dim=1)
        return (self.experts(x) * shares).sum(dim=1), EXPERTS * shares.mean(dim=0).square().sum()


torch.manual_seed(1)
model = DistributedDataParallel(Mixture())
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)


def batch(step, micro, of):
    return torch.randn(4, WIDTH, generator=torch.Generator().manual_seed(1000 * step + 10 * micro + of))


def gradient_by_definition(step):
    """Of the mean loss over all micro-batches of all ranks, on one rank."""
    alone = Mixture()
    alone.load_state_dict(model.module.state_dict())
    for micro in range(MICRO_BATCHES):
        for of in range(size):
            output, balance = alone(batch(step, micro, of))
            (((output - 1).square().mean() + BALANCE * balance) / (MICRO_BATCHES * size)).backward()
    return alone.router.weight.grad


for step in range(STEPS):
    optimizer.zero_grad()
    for micro in range(MICRO_BATCHES):
        model.require_backward_grad_sync = micro == MICRO_BATCHES - 1
        output, balance = model(batch(step, micro, rank))
        loss = (output - 1).square().mean() / MICRO_BATCHES
        loss = loss + BALANCE * balance / MICRO_BATCHES
        loss.backward()
    check("reference.router gradient", model.module.router.weight.grad.norm(), gradient_by_definition(step).norm())
    optimizer.step()
dist.destroy_process_group()
