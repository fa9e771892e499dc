# scenarios/catalog/communication/count_reduced_by_the_logging_rank_alone.py — The fixed program.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("nccl")
rank = dist.get_rank()
device = torch.device("cuda", rank % torch.cuda.device_count()) if torch.cuda.is_available() else "cpu"
torch.manual_seed(1)
model = DistributedDataParallel(torch.nn.Linear(8, 1).to(device))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)


def tokens_of_all(tokens):
    total = torch.tensor(float(tokens), device=device)
    dist.all_reduce(total)
    return total.item()


def log(step, total):
    if rank == 0:
        print(f"step {step}: {total:.0f} tokens", flush=True)


for step in range(6):
    loss = model(torch.full((4, 8), 1.0 / (step + rank + 1), device=device)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    log(step, tokens_of_all(32 + rank))
dist.destroy_process_group()
