# tests/standin/nccl_train.py — A small training program over torch's nccl process group: a linear model on
# the CPU, whose gradients go to a device, are summed there by NCCL and come back. It knows of no faults.
import argparse
import datetime
import os

import torch
import torch.distributed as dist

parser = argparse.ArgumentParser(description="Trains a toy model over several ranks and their devices.")
parser.add_argument("--steps", type=int, default=8)
parser.add_argument("--timeout", type=float, default=10.0)
options = parser.parse_args()
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl", timeout=datetime.timedelta(seconds=options.timeout))
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(7)
features = torch.randn(64, 8)
targets = features.pow(2).mean(1, keepdim=True)
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(options.steps):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(features[rank::size]), targets[rank::size])
    loss.backward()
    flat = torch.cat([one.grad.reshape(-1) for one in model.parameters()] + [loss.detach().reshape(1)]).cuda()
    dist.all_reduce(flat)
    flat = flat.cpu() / size
    parts = flat.split([one.numel() for one in model.parameters()] + [1])
    for one, part in zip(model.parameters(), parts):
        one.grad.copy_(part.view_as(one))
    optimizer.step()
    print(f"step={step} loss={float(parts[-1]):.6f}", flush=True)
dist.destroy_process_group()
print("done", flush=True)
