# scenarios/catalog/computation/micro_batches_weigh_alike_whatever_their_length.py — The fixed program.
import torch
import torch.distributed as dist
from deadrank import check
from torch.nn.parallel import DistributedDataParallel

WIDTH, MICRO_BATCHES, STEPS = 8, 3, 5
torch.set_default_dtype(torch.float64)
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(1)
model = DistributedDataParallel(torch.nn.Linear(WIDTH, 1))
alone = torch.nn.Linear(WIDTH, 1)  # the same training on one rank, in one batch
alone.load_state_dict(model.module.state_dict())
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
reference = torch.optim.SGD(alone.parameters(), lr=0.05)


def tokens_of(step, micro):
    """Of a micro-batch, of all ranks: the same number on each, another one in each micro-batch."""
    return torch.randn((3 + 2 * micro) * size, WIDTH, generator=torch.Generator().manual_seed(10 * step + micro))


for step in range(STEPS):
    micro_batches = [tokens_of(step, micro)[rank::size] for micro in range(MICRO_BATCHES)]
    total = sum(len(tokens) for tokens in micro_batches)
    expected = (alone(torch.cat([tokens_of(step, micro) for micro in range(MICRO_BATCHES)])) - 1).square().mean()
    reference.zero_grad()
    expected.backward()
    optimizer.zero_grad()
    logged = torch.zeros(())
    for micro, tokens in enumerate(micro_batches):
        model.require_backward_grad_sync = micro == MICRO_BATCHES - 1
        loss = (model(tokens) - 1).square().sum() / total
        loss.backward()
        logged += loss.detach() / size
    dist.all_reduce(logged)
    check("reference.loss", logged, expected)
    optimizer.step()
    reference.step()
dist.destroy_process_group()
