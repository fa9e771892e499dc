# tests/sim/managed/programs/workers.py — A data loader with workers, and other children of a rank: they run in
# real time, and take no virtual time.
import multiprocessing
import subprocess
import sys
import time

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, TensorDataset


def double(tasks, results):
    while (task := tasks.get()) is not None:
        results.put(2 * task)
        tasks.task_done()
    tasks.task_done()


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
# A writer in another process, as savers of checkpoints have: the queue's feeder thread must run while join waits.
context = multiprocessing.get_context("fork")
tasks, results = context.JoinableQueue(), context.Queue()
writer = context.Process(target=double, args=(tasks, results))
writer.start()
for task in (1, 2, 3, None):
    tasks.put(task)
tasks.join()
assert sorted(results.get() for _ in range(3)) == [2, 4, 6]
writer.join()
assert time.monotonic() - began < 0.1, time.monotonic() - began
if dist.get_rank() == 0:
    print(f"ok workers sum {total:.1f}", flush=True)
dist.destroy_process_group()
