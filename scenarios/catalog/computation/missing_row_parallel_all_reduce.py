# scenarios/catalog/computation/missing_row_parallel_all_reduce.py — The fixed program.
import torch
import torch.distributed as dist
from deadrank import check

WIDTH, STEPS = 8, 4
torch.set_default_dtype(torch.float64)
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
part = 2 * WIDTH // size
torch.manual_seed(1)
first, last = torch.nn.Linear(WIDTH, 2 * WIDTH, bias=False), torch.nn.Linear(2 * WIDTH, WIDTH, bias=False)
whole = torch.nn.Sequential(first, torch.nn.ReLU(), last)
mine = slice(rank * part, (rank + 1) * part)


class Sum(torch.autograd.Function):
    """Adds the ranks' parts up; each part has the gradient of the sum."""

    @staticmethod
    def forward(context, x):
        dist.all_reduce(x := x.clone())
        return x

    @staticmethod
    def backward(context, gradient):
        return gradient


class ColumnParallelLinear(torch.nn.Module):
    def __init__(self, weight):
        super().__init__()
        self.weight = torch.nn.Parameter(weight[mine].clone())

    def forward(self, x):
        return x @ self.weight.T


class RowParallelLinear(torch.nn.Module):
    def __init__(self, weight, reduce_results=True):
        super().__init__()
        self.weight = torch.nn.Parameter(weight[:, mine].clone())
        self.reduce_results = reduce_results

    def forward(self, x):
        output = x @ self.weight.T
        return Sum.apply(output) if self.reduce_results else output


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.in_proj = ColumnParallelLinear(first.weight.detach())
        self.out_proj = RowParallelLinear(last.weight.detach())

    def forward(self, x):
        return self.out_proj(self.in_proj(x).relu())


block = Block()
optimizer = torch.optim.SGD(block.parameters(), lr=0.05)
reference = torch.optim.SGD(whole.parameters(), lr=0.05)
for step in range(STEPS):
    x = torch.randn(4, WIDTH, generator=torch.Generator().manual_seed(step))
    expected = (whole(x) - 1).square().mean()  # the same training on one rank
    reference.zero_grad()
    expected.backward()
    loss = (block(x) - 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    check("reference.loss", loss, expected)
    optimizer.step()
    reference.step()
dist.destroy_process_group()
