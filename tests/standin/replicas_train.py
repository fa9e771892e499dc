# tests/standin/replicas_train.py — DistributedDataParallel over torch's nccl process group, where no GPU is.
import os

import torch
import torch.distributed as dist


class Scale(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.by = torch.nn.Parameter(torch.ones(8))

    def forward(self, data):
        return data * self.by


device = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(device)
dist.init_process_group("nccl")
model = torch.nn.parallel.DistributedDataParallel(Scale().cuda(), device_ids=[device])
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(20):
    optimizer.zero_grad()
    model(torch.ones(4, 8).cuda()).pow(2).mean().backward()
    optimizer.step()
dist.destroy_process_group()
