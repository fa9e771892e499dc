# scenarios/catalog/computation/each_rank_averages_over_its_own_tokens.py — The fixed program.
import torch
import torch.distributed as dist
from deadrank import check
from torch.nn.parallel import DistributedDataParallel

WIDTH, STEPS = 8, 6
torch.set_default_dtype(torch.float64)
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(1)
model = DistributedDataParallel(torch.nn.Linear(WIDTH, 1))
alone = torch.nn.Linear(WIDTH, 1)  # the same training on one rank
alone.load_state_dict(model.module.state_dict())
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
reference = torch.optim.SGD(alone.parameters(), lr=0.05)


def tokens_of(step, of):
    """A rank's samples have as many tokens as they have."""
    return torch.randn(4 + (step + 3 * of) % 7, WIDTH, generator=torch.Generator().manual_seed(100 * step + of))


for step in range(STEPS):
    expected = (alone(torch.cat([tokens_of(step, one) for one in range(size)])) - 1).square().mean()
    reference.zero_grad()
    expected.backward()
    tokens = tokens_of(step, rank)
    total = torch.tensor(float(len(tokens)))
    dist.all_reduce(total)
    # gradients of ranks are averaged: the loss of a rank is its share of the mean over all tokens, times the ranks
    loss = (model(tokens) - 1).square().sum() * size / total
    optimizer.zero_grad()
    loss.backward()
    logged = loss.detach() / size
    dist.all_reduce(logged)
    check("reference.loss", logged, expected)
    optimizer.step()
    reference.step()
dist.destroy_process_group()
