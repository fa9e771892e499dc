# scenarios/catalog/computation/reduce_scatter_input_one_element_short.py — The fixed program.
import torch
import torch.distributed as dist
import torch.nn.functional as F

dist.init_process_group("nccl")
rank, size = dist.get_rank(), dist.get_world_size()
device = torch.device("cuda", rank % torch.cuda.device_count()) if torch.cuda.is_available() else "cpu"
torch.manual_seed(1)
model = torch.nn.Linear(10, 1).to(device)  # 11 parameters, which no number of ranks divides
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)


def padded(flat):
    return F.pad(flat, (0, -len(flat) % size))


for step in range(6):
    loss = model(torch.full((4, 10), 1.0 / (step + rank + 1), device=device)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    flat = torch.nn.utils.parameters_to_vector([one.grad for one in model.parameters()])
    flat = padded(flat)
    mine = torch.empty(-(-11 // size), device=device)
    dist.reduce_scatter_tensor(mine, flat, op=dist.ReduceOp.AVG)
    dist.all_gather_into_tensor(flat, mine)
    torch.nn.utils.vector_to_parameters(flat[:11], [one.grad for one in model.parameters()])
    optimizer.step()
dist.destroy_process_group()
