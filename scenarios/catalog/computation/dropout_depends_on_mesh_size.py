# scenarios/catalog/computation/dropout_depends_on_mesh_size.py — The fixed program.
import copy

import torch
import torch.distributed as dist
import torch.nn.functional as F
from deadrank import check
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Shard, distribute_module, distribute_tensor

WIDTH, BATCH, STEPS = 8, 8, 5
torch.set_default_dtype(torch.float64)
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
mesh = init_device_mesh("cpu", (size,))


def dropped(x):
    """Dropout of half of the features: which ones follows from the place of an element in the whole tensor."""
    mask = torch.empty(x.shape).bernoulli_(0.5) * 2
    if isinstance(x, DTensor):
        mask = distribute_tensor(mask, mesh, x.placements, src_data_rank=None)
    return x * mask


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.last = torch.nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        return self.last(dropped(x))


torch.manual_seed(1)
model = Model()
alone = copy.deepcopy(model)  # the same training on one rank
distribute_module(model, mesh)
optimizers = [torch.optim.SGD(one.parameters(), lr=0.05) for one in (model, alone)]
drawn = {model: torch.get_rng_state(), alone: torch.get_rng_state()}


def loss_of(one, x):
    """One generator for each of the two, both from the same seed."""
    torch.set_rng_state(drawn[one])
    loss = one(x).square().mean()
    drawn[one] = torch.get_rng_state()
    loss.backward()
    return loss.full_tensor() if isinstance(loss, DTensor) else loss


for step in range(STEPS):
    x = torch.full((BATCH, WIDTH), 1.0 / (step + 1))
    expected = loss_of(alone, x)
    check("reference.loss", loss_of(model, distribute_tensor(x, mesh, [Shard(0)])), expected)
    for optimizer in optimizers:
        optimizer.step()
        optimizer.zero_grad()
dist.destroy_process_group()
