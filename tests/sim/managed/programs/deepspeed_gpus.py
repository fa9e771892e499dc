# tests/sim/managed/programs/deepspeed_gpus.py — DeepSpeed as its examples configure it for GPUs: its own fused AdamW, and
# half precision whose first loss scale overflows ("half") or experts that differ between ranks ("experts").
import sys

import deepspeed
import torch
import torch.nn as nn
from deepspeed.moe.layer import MoE
from deepspeed.moe.utils import split_params_into_different_moe_groups_for_optimizer

half, experts = (kind in sys.argv for kind in ("half", "experts"))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(8, 16), nn.Linear(16, 4)
        self.experts = MoE(16, nn.Linear(16, 16), num_experts=2, ep_size=2, k=1) if experts else None

    def forward(self, x):
        x = self.first(x).relu()
        if self.experts is not None:
            x, *_ = self.experts(x)
        return self.last(x)


deepspeed.init_distributed()
torch.manual_seed(0)
net = Net()
parameters = list(net.parameters())
if experts:
    parameters = split_params_into_different_moe_groups_for_optimizer({"params": parameters, "name": "all"})
config = {"train_micro_batch_size_per_gpu": 8, "optimizer": {"type": "AdamW", "params": {"lr": 1e-3}}}
if half:
    config |= {"fp16": {"enabled": True, "initial_scale_power": 16}, "zero_optimization": {"stage": 2}}
engine, *_ = deepspeed.initialize(model=net, model_parameters=parameters, config=config)
torch.manual_seed(1 + torch.distributed.get_rank())
target = torch.zeros(8, dtype=torch.long, device=engine.device)
for step in range(4):
    x = torch.randn(8, 8, device=engine.device)
    loss = nn.functional.cross_entropy(engine(x.half() if half else x), target)
    engine.backward(loss)
    engine.step()
print("optimizer", type(engine.basic_optimizer).__name__)
