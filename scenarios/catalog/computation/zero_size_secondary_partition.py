# scenarios/catalog/computation/zero_size_secondary_partition.py — The fixed program.
import torch
import torch.distributed as dist

ELEMENTS = 6  # of a parameter, fewer than there are ranks
dist.init_process_group("nccl")
rank, size = dist.get_rank(), dist.get_world_size()
device = torch.device("cuda", rank % torch.cuda.device_count()) if torch.cuda.is_available() else "cpu"
part = -(-ELEMENTS // size)
torch.manual_seed(1)
whole = torch.randn(ELEMENTS, device=device)
begin = min(rank * part, ELEMENTS)
length = min(part, ELEMENTS - begin)  # none on the last ranks
shard = torch.nn.Parameter(torch.zeros(part, device=device))
with torch.no_grad():
    shard[:length] = whole.narrow(0, begin, length)
optimizer = torch.optim.SGD([shard], lr=0.05)
for step in range(4):
    gathered = torch.empty(part * size, device=device)
    dist.all_gather_into_tensor(gathered, shard.detach())
    loss = (shard.sum() + gathered[:ELEMENTS].mean()).square()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
dist.destroy_process_group()
