# scenarios/catalog/communication/parameter_built_on_rank_zero_only.py — The fixed program.
import torch
import torch.distributed as dist

WIDTH = 8
dist.init_process_group("nccl")
rank = dist.get_rank()
device = torch.device("cuda", rank % torch.cuda.device_count()) if torch.cuda.is_available() else "cpu"


class Sharded(torch.nn.Module):
    """Takes its weights from rank 0."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(WIDTH, WIDTH, device=device))
        dist.broadcast(self.weight.data, 0)

    def forward(self, x):
        return x @ self.weight


torch.manual_seed(rank)
shown = Sharded()
if rank == 0:
    print(f"the model has {sum(one.numel() for one in shown.parameters())} parameters", flush=True)
model = Sharded()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(6):
    loss = model(torch.full((4, WIDTH), 1.0 / (step + rank + 1), device=device)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    dist.all_reduce(model.weight.grad, op=dist.ReduceOp.AVG)
    optimizer.step()
dist.destroy_process_group()
