# scenarios/catalog/communication/expert_gathers_differ_per_rank.py — The fixed program.
import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard

WIDTH, EXPERTS = 8, 4
dist.init_process_group("nccl")
rank = dist.get_rank()
if torch.cuda.is_available():
    torch.cuda.set_device(rank % torch.cuda.device_count())
device = "cuda" if torch.cuda.is_available() else "cpu"


class Mixture(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.experts = torch.nn.ModuleList([torch.nn.Linear(WIDTH, WIDTH) for _ in range(EXPERTS)])

    def forward(self, x, routed):
        """All experts compute, on every rank; those to which no sample is routed add nothing."""
        return sum(expert(x) * (number in routed) for number, expert in enumerate(self.experts))


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.mixture = Mixture()
        self.head = torch.nn.Linear(WIDTH, 1)

    def forward(self, x, routed):
        return self.head(self.mixture(x, routed))


torch.manual_seed(1)
model = Model().to(device)
for expert in model.mixture.experts:
    fully_shard(expert)
fully_shard(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(6):
    routed = [0, 1] if step < 2 or rank % 2 == 0 else [2]
    loss = model(torch.full((4, WIDTH), 1.0 / (step + rank + 1), device=device), routed).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
dist.destroy_process_group()
