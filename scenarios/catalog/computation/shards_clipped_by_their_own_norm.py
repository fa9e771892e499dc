# scenarios/catalog/computation/shards_clipped_by_their_own_norm.py — The fixed program.
import torch
import torch.distributed as dist
from deadrank import check
from torch.distributed.fsdp import fully_shard

WIDTH, STEPS, MAX_NORM = 8, 4, 0.1
torch.set_default_dtype(torch.float64)
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()


def make():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU(), torch.nn.Linear(WIDTH, WIDTH))


def batch(step, of):
    return torch.randn(4, WIDTH, generator=torch.Generator().manual_seed(100 * step + of))


model, alone = make(), make()  # and the same training on one rank
fully_shard(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
reference = torch.optim.SGD(alone.parameters(), lr=0.5)


def clip():
    """Scales gradients by their norm: that of the whole, of which a rank holds a shard."""
    return torch.nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM).full_tensor()


for step in range(STEPS):
    reference.zero_grad()
    alone(torch.cat([batch(step, of) for of in range(size)])).square().mean().backward()
    expected = torch.nn.utils.clip_grad_norm_(alone.parameters(), MAX_NORM)
    loss = model(batch(step, rank)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    check("reference.grad_norm", clip(), expected)
    optimizer.step()
    reference.step()
dist.destroy_process_group()
