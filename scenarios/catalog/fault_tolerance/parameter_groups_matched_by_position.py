# scenarios/catalog/fault_tolerance/parameter_groups_matched_by_position.py — The fixed program.
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

PATH, STEPS, SAVE_EVERY = "checkpoint.pt", 12, 3
dist.init_process_group("gloo")
rank = dist.get_rank()


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Linear(8, 8, bias=False)
        self.output = torch.nn.Linear(8, 1)

    def forward(self, x):
        return self.output(self.embedding(x).relu())


torch.manual_seed(1)
model = DistributedDataParallel(Model())
embedding, output = model.module.embedding.parameters(), model.module.output.parameters()
groups = [  # both are scaled alike; their schedules differ
    {"params": embedding, "wd_mult": 1.0, "lr_mult": 1.0, "max_lr": 0.08, "min_lr": 0.02},
    {"params": output, "wd_mult": 1.0, "lr_mult": 1.0, "max_lr": 0.01, "min_lr": 0.001},
]
optimizer = torch.optim.SGD(groups, lr=0.01, momentum=0.9)


def schedule(step):
    for group in optimizer.param_groups:
        group["lr"] = group["min_lr"] + (group["max_lr"] - group["min_lr"]) * (1 - step / STEPS)


def identity(group):
    """What a group of the checkpoint is known by in the optimizer that loads it."""
    return group["wd_mult"], group["lr_mult"], group["max_lr"], group["min_lr"]


def load_optimizer(saved):
    known = {identity(group): group for group in saved["param_groups"]}
    numbered = optimizer.state_dict()["param_groups"]
    fitting = [
        dict(known[identity(group)], params=number["params"])
        for group, number in zip(optimizer.param_groups, numbered, strict=True)
    ]
    optimizer.load_state_dict({"state": saved["state"], "param_groups": fitting})


begin = 0
if os.path.exists(PATH):
    saved = torch.load(PATH)
    begin = saved["step"] + 1
    model.load_state_dict(saved["model"])
    load_optimizer(saved["optimizer"])
for step in range(begin, STEPS):
    data = torch.randn(4, 8, generator=torch.Generator().manual_seed(100 * step + rank))
    loss = (model(data) - 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    schedule(step)
    optimizer.step()
    if step % SAVE_EVERY == SAVE_EVERY - 1:
        if rank == 0:
            torch.save({"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, PATH)
        dist.barrier()
dist.destroy_process_group()
