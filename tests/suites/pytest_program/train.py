# tests/suites/pytest_program/train.py — A small trainer, as a user's.
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
torch.manual_seed(1)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = torch.Generator().manual_seed(100 + dist.get_rank())
for step in range(3):
    loss = model(torch.randn(4, 8, generator=data)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
dist.destroy_process_group()
