# scenarios/catalog/fault_tolerance/dp_shards_merged_in_text_order.py — The fixed program.
import glob
import re

import torch
import torch.distributed as dist
from deadrank import check

SHARDS, PART, WIDTH, STEPS = 12, 4, 6, 4
torch.set_default_dtype(torch.float64)
dist.init_process_group("gloo")
rank = dist.get_rank()


def number_of(path):
    return int(re.search(r"dp_(\d+)", path).group(1))


def saved_by_a_larger_job():
    """Leaves the shards of a flat weight as a job of twelve ranks wrote them. Returns the weight."""
    weight = torch.randn(SHARDS * PART, generator=torch.Generator().manual_seed(5))
    for shard, values in enumerate(weight.chunk(SHARDS)):
        torch.save({"step": 0, "weight": values.clone()}, f"dp_{shard}_of_{SHARDS}.pt")
    return weight


def merge():
    """The conversion: one weight of all shards, in the order of their ranks."""
    paths = sorted(glob.glob("dp_*.pt"), key=number_of)
    return torch.cat([torch.load(path)["weight"] for path in paths])


weight = saved_by_a_larger_job() if rank == 0 else torch.empty(SHARDS * PART)
dist.broadcast(weight, 0)
model = torch.nn.Linear(8, WIDTH, bias=False)
with torch.no_grad():
    model.weight.copy_(merge().view(WIDTH, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(STEPS):
    x = torch.randn(4, 8, generator=torch.Generator().manual_seed(10 * step + rank))
    loss = model(x).square().mean()
    if step == 0:  # what the larger job would have had for this batch
        check("restored.loss", loss, (x @ weight.view(WIDTH, 8).T).square().mean())
    optimizer.zero_grad()
    loss.backward()
    dist.all_reduce(model.weight.grad)
    optimizer.step()
dist.destroy_process_group()
