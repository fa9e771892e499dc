# scenarios/catalog/computation/evaluation_averages_batch_means.py — The fixed program.
import torch
import torch.distributed as dist
import torch.nn.functional as F
from deadrank import check
from torch.nn.parallel import DistributedDataParallel

BATCH, SAMPLES = 4, 22  # of the validation set, which each rank holds a part of
dist.init_process_group("nccl")
rank, size = dist.get_rank(), dist.get_world_size()
device = torch.device("cuda", rank % torch.cuda.device_count()) if torch.cuda.is_available() else "cpu"
torch.manual_seed(1)
model = DistributedDataParallel(torch.nn.Linear(8, 1).to(device))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
data = torch.randn(SAMPLES, 8, generator=torch.Generator().manual_seed(2)).to(device)
answers = data.square().sum(dim=1, keepdim=True)


def loss_of_all():
    """By its definition, over the whole set."""
    return F.mse_loss(model.module(data), answers)


@torch.no_grad()
def evaluate():
    total, count = torch.zeros((), device=device), torch.zeros((), device=device)
    mine, right = data[rank::size], answers[rank::size]
    for first in range(0, len(mine), BATCH):
        batch = mine[first : first + BATCH]
        total += F.mse_loss(model.module(batch), right[first : first + BATCH], reduction="sum")
        count += len(batch)
    dist.all_reduce(total)
    dist.all_reduce(count)
    return total / count


for step in range(8):
    loss = F.mse_loss(model(data[rank::size]), answers[rank::size])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 4 == 3:
        check("evaluation loss", evaluate(), loss_of_all())
dist.destroy_process_group()
