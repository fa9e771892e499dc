# tests/sim/managed/programs/workers.py — A data loader with workers, and other children of a rank: they run in
# real time, and take no virtual time.
import subprocess
import sys
import time

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, TensorDataset

dist.init_process_group("gloo")
began, total = time.monotonic(), 0.0
data = TensorDataset(torch.arange(64.0))
for epoch in range(2):
    for (batch,) in DataLoader(data, batch_size=4, num_workers=2, persistent_workers=epoch == 1):
        number = batch.sum()
        dist.all_reduce(number)
        total += number.item()
assert total == 2 * sum(range(64)) * dist.get_world_size(), total
said = subprocess.run([sys.executable, "-c", "print(6 * 7)"], capture_output=True, text=True, check=True)
assert said.stdout == "42\n"
assert time.monotonic() - began < 0.1, time.monotonic() - began
if dist.get_rank() == 0:
    print(f"ok workers sum {total:.1f}", flush=True)
dist.destroy_process_group()
