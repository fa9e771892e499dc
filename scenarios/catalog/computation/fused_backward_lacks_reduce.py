# scenarios/catalog/computation/fused_backward_lacks_reduce.py — The fixed program.
import copy

import torch
import torch.distributed as dist
from deadrank import check

LENGTH, WIDTH, STEPS = 8, 4, 4
torch.set_default_dtype(torch.float64)
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
part = LENGTH // size  # positions of a rank


class Gather(torch.autograd.Function):
    """The whole sequence, of which each rank has a part."""

    @staticmethod
    def forward(context, x):
        whole = torch.empty(LENGTH, x.shape[1])
        dist.all_gather_into_tensor(whole, x.contiguous())
        return whole

    @staticmethod
    def backward(context, gradient):
        mine = torch.empty(part, gradient.shape[1])
        dist.reduce_scatter_tensor(mine, gradient.contiguous())  # all ranks have used this rank's part
        return mine


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.queries, self.keys = (torch.nn.Linear(WIDTH, WIDTH) for _ in range(2))

    def forward(self, x, gather):
        return (self.queries(x) @ gather(self.keys(x)).T).softmax(dim=1)


torch.manual_seed(1)
attention = Attention()
alone = copy.deepcopy(attention)  # the same training on one rank
optimizer = torch.optim.SGD(attention.parameters(), lr=0.5)
reference = torch.optim.SGD(alone.parameters(), lr=0.5)
for step in range(STEPS):
    sequence = torch.randn(LENGTH, WIDTH, generator=torch.Generator().manual_seed(step))
    reference.zero_grad()
    alone(sequence, lambda keys: keys).square().sum().backward()
    optimizer.zero_grad()
    attention(sequence[rank * part : (rank + 1) * part], Gather.apply).square().sum().backward()
    for parameter in attention.parameters():
        dist.all_reduce(parameter.grad)
    check("reference.gradient of the keys", attention.keys.weight.grad.norm(), alone.keys.weight.grad.norm())
    optimizer.step()
    reference.step()
dist.destroy_process_group()
