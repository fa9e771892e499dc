# scenarios/catalog/computation/dataloader_consumes_rng_on_one_tp_rank.py — The fixed program.
import copy

import torch
import torch.distributed as dist
from deadrank import check
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.utils.data import DataLoader

WIDTH, BATCH, EPOCHS = 8, 4, 3
torch.set_default_dtype(torch.float64)
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
samples = torch.randn(2 * BATCH, WIDTH, generator=torch.Generator().manual_seed(2))
torch.manual_seed(1)


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = torch.nn.Dropout(0.5)  # before the layers that are cut: all ranks must drop the same
        self.up = torch.nn.Linear(WIDTH, 2 * WIDTH)
        self.down = torch.nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x):
        return self.down(self.up(self.drop(x)).relu())


model = Block()
alone = copy.deepcopy(model)  # the same training on one rank
parallelize_module(model, init_device_mesh("cpu", (size,)), {"up": ColwiseParallel(), "down": RowwiseParallel()})
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
reference = torch.optim.SGD(alone.parameters(), lr=0.05)
drawn = torch.get_rng_state()


def loss_on_one_rank(x):
    """What a single rank gets, whose generator nobody else draws from."""
    global drawn
    with torch.random.fork_rng():
        torch.set_rng_state(drawn)
        loss = alone(x).square().mean()
        drawn = torch.get_rng_state()
    reference.zero_grad()
    loss.backward()
    return loss


for epoch in range(EPOCHS):
    if rank == 0:  # one rank of the group reads for all
        batches = iter(DataLoader(samples, batch_size=BATCH, generator=torch.Generator().manual_seed(epoch)))
    for _ in range(len(samples) // BATCH):
        x = next(batches) if rank == 0 else torch.empty(BATCH, WIDTH)
        dist.broadcast(x, 0)
        expected = loss_on_one_rank(x)
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        check("reference.loss", loss, expected)
        optimizer.step()
        reference.step()
dist.destroy_process_group()
