# scenarios/catalog/fault_tolerance/secondary_shard_stale_after_load.py — The fixed program.
import os

import torch
import torch.distributed as dist

WIDTH, NODE, STEPS, SAVE_EVERY = 4, 2, 10, 3  # ranks of a node
torch.set_default_dtype(torch.float64)
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
nodes = [dist.new_group(range(first, first + NODE)) for first in range(0, size, NODE)]
node = nodes[rank // NODE]
PATH = f"rank_{rank}.pt"


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

    def load(self, shard):
        with torch.no_grad():
            self.shard.copy_(shard)
        self.secondary = None  # made of what was there before


torch.manual_seed(1)
model = Sharded(torch.randn(WIDTH * WIDTH))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
begin = 0
if os.path.exists(PATH):
    saved = torch.load(PATH)
    begin = saved["step"] + 1
    model.load(saved["shard"])
for step in range(begin, STEPS):
    loss = model(torch.full((1, WIDTH), 1.0 / (step + rank + 1))).square().mean()
    loss.backward()
    model.shard.grad = torch.empty_like(model.shard)
    dist.reduce_scatter_tensor(model.shard.grad, model.whole.grad / size)
    optimizer.step()
    model.secondary = None
    if step % SAVE_EVERY == SAVE_EVERY - 1:
        torch.save({"step": step, "shard": model.shard.detach()}, PATH)
        dist.barrier()
dist.destroy_process_group()
