# scenarios/catalog/computation/overlapped_bucket_read_too_early.py — The fixed program.
import torch
import torch.distributed as dist

WIDTH, STEPS = 8, 6
dist.init_process_group("nccl")
rank, size = dist.get_rank(), dist.get_world_size()
device = torch.device("cuda", rank % torch.cuda.device_count()) if torch.cuda.is_available() else "cpu"
torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU(), torch.nn.Linear(WIDTH, 1)).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
reductions = []  # under way while backward goes on


def reduce(parameter):
    parameter.grad /= size
    reductions.append(dist.all_reduce(parameter.grad, async_op=True))


for parameter in model.parameters():
    parameter.register_post_accumulate_grad_hook(reduce)
for step in range(STEPS):
    loss = model(torch.full((4, WIDTH), 1.0 / (step + rank + 1), device=device)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    for work in reductions:
        work.wait()
    optimizer.step()
    reductions.clear()
dist.destroy_process_group()
