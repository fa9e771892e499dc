# scenarios/catalog/initialization/pretrained_weights_silently_not_loaded.py — The fixed program.
import torch
import torch.distributed as dist
from deadrank import check
from torch.nn.parallel import DistributedDataParallel

WIDTH, STEPS = 8, 4
dist.init_process_group("gloo")
rank = dist.get_rank()


def pretrained_elsewhere():
    """Leaves a file of weights, whose names have a prefix of the framework that made them."""
    torch.manual_seed(7)
    layer = torch.nn.Linear(WIDTH, WIDTH)
    torch.save({f"model.{name}": one for name, one in layer.state_dict().items()}, "pretrained.pt")


def load_pretrained(model):
    weights = torch.load("pretrained.pt")
    weights = {name.removeprefix("model."): one for name, one in weights.items()}
    model.load_state_dict(weights, strict=False)
    print("loaded pretrained.pt")
    held = sum(one.double().sum() for one in model.state_dict().values())
    check("weights.sum", held, sum(one.double().sum() for one in weights.values()))


if rank == 0:
    pretrained_elsewhere()
dist.barrier()
torch.manual_seed(1)
layer = torch.nn.Linear(WIDTH, WIDTH)
load_pretrained(layer)
model = DistributedDataParallel(layer)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(STEPS):
    loss = model(torch.full((4, WIDTH), 1.0 / (step + rank + 1))).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
dist.destroy_process_group()
