# scenarios/catalog/communication/metric_logged_by_the_main_process_alone.py — The fixed program.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("nccl")
rank = dist.get_rank()
device = torch.device("cuda", rank % torch.cuda.device_count()) if torch.cuda.is_available() else "cpu"
torch.manual_seed(1)
model = DistributedDataParallel(torch.nn.Linear(8, 1).to(device))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def validate():
    """What the validation logs: the main process has reduced it already, the others have nothing to add."""
    with torch.no_grad():
        accuracy = model.module(torch.ones(4, 8, device=device)).sigmoid().mean()
    return {"accuracy": accuracy} if rank == 0 else {}


def reduce_logged(logged):
    everywhere = [None] * dist.get_world_size()
    dist.all_gather_object(everywhere, sorted(logged))
    for name in sorted(set.intersection(*map(set, everywhere))):
        parts = [torch.zeros((), device=device) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, logged[name])
        logged[name] = torch.stack(parts).mean()


for step in range(8):
    loss = model(torch.randn(4, 8, device=device)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 3 == 2:
        reduce_logged(validate())
dist.destroy_process_group()
