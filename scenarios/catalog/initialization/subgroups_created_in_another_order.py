# scenarios/catalog/initialization/subgroups_created_in_another_order.py — The fixed program.
import torch
import torch.distributed as dist

ORDER = ["tp", "dp"]  # of the dimensions, from a configuration of the rank's own
TP = 4
dist.init_process_group("nccl")
rank, size = dist.get_rank(), dist.get_world_size()
device = torch.device("cuda", rank % torch.cuda.device_count()) if torch.cuda.is_available() else "cpu"
members = {
    "tp": [list(range(first, first + TP)) for first in range(0, size, TP)],
    "dp": [list(range(first, size, TP)) for first in range(TP)],
}
groups = {}
for name in ORDER:
    for ranks in members[name]:
        group = dist.new_group(ranks)
        if rank in ranks:
            groups[name] = group
torch.manual_seed(rank % TP)
model = torch.nn.Linear(8, 4).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(6):
    partial = model(torch.full((4, 8), 1.0 / (step + rank // TP + 1), device=device))
    whole = partial.detach().clone()
    dist.all_reduce(whole, group=groups["tp"])
    loss = (partial - whole).square().mean()
    optimizer.zero_grad()
    loss.backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad, op=dist.ReduceOp.AVG, group=groups["dp"])
    optimizer.step()
dist.destroy_process_group()
