# scenarios/catalog/computation/gathered_parameters_never_refreshed.py — The fixed program.
import torch
import torch.distributed as dist
from deadrank import check

WIDTH, NODE, STEPS = 4, 2, 4  # ranks of a node
torch.set_default_dtype(torch.float64)
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
nodes = [dist.new_group(range(first, first + NODE)) for first in range(0, size, NODE)]
node = nodes[rank // NODE]
pretrained = torch.randn(WIDTH * WIDTH, generator=torch.Generator().manual_seed(7))


class Sharded(torch.nn.Module):
    """A weight cut over all ranks, and once more over those of a node, so that most gathers stay within it."""

    def __init__(self, whole):
        super().__init__()
        self.shard = torch.nn.Parameter(whole.chunk(size)[rank].clone())
        self.secondary = whole.chunk(NODE)[rank % NODE].clone()

    def forward(self, x):
        if self.secondary is None:
            dist.all_gather_into_tensor(whole := torch.empty(WIDTH * WIDTH), self.shard.detach())
            self.secondary = whole.chunk(NODE)[rank % NODE].clone()
        else:
            dist.all_gather_into_tensor(whole := torch.empty(WIDTH * WIDTH), self.secondary, group=node)
        self.whole = whole.requires_grad_()
        return x @ self.whole.view(WIDTH, WIDTH)

    def load(self, whole):
        with torch.no_grad():
            self.shard.copy_(whole.chunk(size)[rank])
        self.secondary = None  # made of what was there before


torch.manual_seed(1)
model = Sharded(torch.randn(WIDTH * WIDTH))
model.load(pretrained)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(STEPS):
    x = torch.full((1, WIDTH), 1.0 / (step + rank + 1))
    loss = model(x).square().mean()
    if step == 0:
        check("reference.loss", loss, (x @ pretrained.view(WIDTH, WIDTH)).square().mean())
    loss.backward()
    model.shard.grad = torch.empty_like(model.shard)
    dist.reduce_scatter_tensor(model.shard.grad, model.whole.grad / size)
    optimizer.step()
    model.secondary = None
dist.destroy_process_group()
