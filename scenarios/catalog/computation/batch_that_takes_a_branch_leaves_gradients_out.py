# scenarios/catalog/computation/batch_that_takes_a_branch_leaves_gradients_out.py — The fixed program.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("nccl")
rank = dist.get_rank()
device = torch.device("cuda", rank % torch.cuda.device_count()) if torch.cuda.is_available() else "cpu"


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.extra, self.last = (torch.nn.Linear(8, 8) for _ in range(3))

    def forward(self, x, long):
        x = self.first(x)
        if long:  # a sample of the other kind does not pass this layer
            x = self.extra(x)
        return self.last(x)


torch.manual_seed(1)
model = DistributedDataParallel(Model().to(device), find_unused_parameters=True)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(6):
    x = torch.full((1, 8), 1.0 / (step + rank + 1), device=device)
    loss = model(x, long=(step + rank) % 2 == 0).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
dist.destroy_process_group()
