# scenarios/catalog/communication/group_made_by_a_call_that_some_leave_out.py — The fixed program.
import torch
import torch.distributed as dist

WIDTH, STEPS = 4, 4
dist.init_process_group("nccl")
rank, size = dist.get_rank(), dist.get_world_size()
device = torch.device("cuda", rank % torch.cuda.device_count()) if torch.cuda.is_available() else "cpu"
experts = dist.new_group(range(size))  # its communicator is made with its first call
torch.manual_seed(1)
expert = torch.nn.Linear(WIDTH, WIDTH).to(device)
optimizer = torch.optim.SGD(expert.parameters(), lr=0.05)
for step in range(STEPS):
    tokens = size - 1 - rank  # that are routed to this rank's expert
    loss = expert(torch.full((tokens, WIDTH), 1.0 / (step + 1), device=device)).square().sum()
    optimizer.zero_grad()
    loss.backward()
    for parameter in expert.parameters():
        dist.all_reduce(parameter.grad, group=experts)
    optimizer.step()
dist.destroy_process_group()
