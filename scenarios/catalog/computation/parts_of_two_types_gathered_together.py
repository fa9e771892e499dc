# scenarios/catalog/computation/parts_of_two_types_gathered_together.py — The fixed program.
import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard

WIDTH = 8
dist.init_process_group("nccl")
rank = dist.get_rank()
if torch.cuda.is_available():
    torch.cuda.set_device(rank % torch.cuda.device_count())
device = "cuda" if torch.cuda.is_available() else "cpu"


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(WIDTH)  # stays in full precision
        self.linear = torch.nn.Linear(WIDTH, WIDTH, dtype=torch.bfloat16)

    def forward(self, x):
        return self.linear(self.norm(x).bfloat16()).float()


torch.manual_seed(1)
model = Model().to(device)
fully_shard(model.norm)
fully_shard(model.linear)
fully_shard(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(4):
    loss = model(torch.full((1, WIDTH), 1.0 / (step + rank + 1), device=device)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
dist.destroy_process_group()
