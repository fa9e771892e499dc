#!/usr/bin/env python3
# tests/others/managed_speed.py — What a job of real ranks costs on the simulated cluster, beside the same program in
# real processes over gloo, in one run: managed_speed.py --deadrank PROGRAM --python PYTHON [--ranks 8 64 256]
import argparse
import os
import resource
import subprocess
import tempfile
import time

PROGRAM = """
import torch, torch.distributed as dist, torch.nn as nn
dist.init_process_group("gloo")
torch.manual_seed(1)
model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 128)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = torch.Generator().manual_seed(dist.get_rank())
for step in range(20):
    loss = model(torch.randn(8, 128, generator=data)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
dist.destroy_process_group()
"""


def measured(command, place, environment):
    """Seconds of the clock, and of all processors."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(command, cwd=place, env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.monotonic() - began, sum(after[i] - before[i] for i in (0, 1))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--deadrank", required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("--ranks", type=int, nargs="*", default=[1, 8, 64])
    parser.add_argument("--real", type=int, nargs="*", default=[8], help="ranks over gloo for real")
    said = parser.parse_args()
    environment = {**os.environ, "DEADRANK_PYTHON": said.python, "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as place:
        with open(os.path.join(place, "train.py"), "w", encoding="ascii") as file:
            file.write(PROGRAM)
        print("| ranks | where | seconds | processor seconds |\n|---|---|---|---|")
        for ranks in said.ranks:
            command = [said.deadrank, "watch", "--quiet", "--simulated", "--", "torchrun"]
            seconds, work = measured([*command, f"--nproc-per-node={ranks}", "train.py"], place, environment)
            print(f"| {ranks} | simulated | {seconds:.1f} | {work:.1f} |", flush=True)
        for ranks in said.real:
            command = [said.python, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"]
            seconds, work = measured([*command, "train.py"], place, environment)
            print(f"| {ranks} | gloo | {seconds:.1f} | {work:.1f} |", flush=True)


if __name__ == "__main__":
    main()
