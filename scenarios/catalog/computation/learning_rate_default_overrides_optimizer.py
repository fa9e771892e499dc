# scenarios/catalog/computation/learning_rate_default_overrides_optimizer.py — The fixed program.
import math

import torch
import torch.distributed as dist
from deadrank import check
from torch.nn.parallel import DistributedDataParallel

CONFIGURATION = {"optimizer": {"lr": 5e-5}, "scheduler": {"warmup_num_steps": 2}}
STEPS = 6
dist.init_process_group("gloo")
rank = dist.get_rank()


class WarmupLR:
    """Raises the rate from its minimum to its maximum in some steps, and leaves it there."""

    def __init__(self, optimizer, warmup_min_lr=0.0, warmup_max_lr=None, warmup_num_steps=1000):
        self.optimizer, self.steps, self.taken = optimizer, max(2, warmup_num_steps), 0
        if warmup_max_lr is None:
            warmup_max_lr = optimizer.param_groups[0]["lr"]
        self.low, self.high = warmup_min_lr, warmup_max_lr

    def step(self):
        gone = min(1.0, math.log(self.taken + 1) / math.log(self.steps))
        for group in self.optimizer.param_groups:
            group["lr"] = self.low + (self.high - self.low) * gone
        self.taken += 1


torch.manual_seed(1)
model = DistributedDataParallel(torch.nn.Linear(8, 1))
optimizer = torch.optim.AdamW(model.parameters(), **CONFIGURATION["optimizer"])
scheduler = WarmupLR(optimizer, **CONFIGURATION["scheduler"])
for step in range(STEPS):
    loss = model(torch.full((4, 8), 1.0 / (step + rank + 1))).square().mean()
    optimizer.zero_grad()
    loss.backward()
    scheduler.step()
    if step >= CONFIGURATION["scheduler"]["warmup_num_steps"]:
        check("learning_rate", optimizer.param_groups[0]["lr"], CONFIGURATION["optimizer"]["lr"])
    optimizer.step()
dist.destroy_process_group()
