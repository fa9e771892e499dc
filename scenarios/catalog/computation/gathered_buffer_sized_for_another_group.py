# scenarios/catalog/computation/gathered_buffer_sized_for_another_group.py — The fixed program.
import torch
import torch.distributed as dist

ROWS, WIDTH = 2, 4
dist.init_process_group("nccl")
rank, size = dist.get_rank(), dist.get_world_size()
device = torch.device("cuda", rank % torch.cuda.device_count()) if torch.cuda.is_available() else "cpu"
halves = [list(range(size // 2)), list(range(size // 2, size))]
half = [dist.new_group(ranks) for ranks in halves][rank // (size // 2)]
torch.manual_seed(rank)
shard = torch.nn.Parameter(torch.randn(ROWS, WIDTH, device=device))
optimizer = torch.optim.SGD([shard], lr=0.05)


def gathered(part, group):
    whole = torch.empty(ROWS * dist.get_world_size(group), WIDTH, device=device)
    dist.all_gather_into_tensor(whole, part, group=group)
    return whole


for step in range(6):
    with torch.no_grad():
        whole = gathered(shard.detach(), dist.group.WORLD)
        near = gathered(shard.detach(), half)
    loss = (shard.sum() - whole.mean() + near.mean()).square()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
dist.destroy_process_group()
