#!/usr/bin/env python3
# tests/others/overhead.py — What watching costs a training step. A small model in
# DistributedDataParallel, two ranks over gloo, alone and watched in turn, in pairs: a busy machine spoils
# both alike. Told are the step's time, the processor time that a rank took for it, and its write calls.
#   overhead.py --deadrank build/deadrank --python PYTHON [--pairs 8] [--steps 200] [--width 512] [--layers 6]
import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time


def train(given):
    """One rank. Its first steps are not counted: buckets are built and memory is asked for in them."""
    import torch
    import torch.distributed as dist
    from torch import nn

    device = torch.device("cpu")
    if given.device == "cuda":
        devices, rank = torch.cuda.device_count(), int(os.environ["RANK"])
        device = torch.device("cuda", rank % devices)
        torch.cuda.set_device(device)
        if devices < given.ranks:  # NCCL lets ranks of one host share no device
            os.environ["NCCL_HOSTID"] = f"rank{rank}"
    dist.init_process_group("nccl" if given.device == "cuda" else "gloo")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    layers = [nn.Sequential(nn.Linear(given.width, given.width), nn.GELU()) for _ in range(given.layers)]
    model = nn.Sequential(*layers, nn.Linear(given.width, 10)).to(device)
    model = nn.parallel.DistributedDataParallel(model)
    optimizer, loss_of = torch.optim.AdamW(model.parameters()), nn.CrossEntropyLoss()
    data, labels = torch.randn(given.batch, given.width), torch.randint(0, 10, (given.batch,))
    data, labels = data.to(device), labels.to(device)
    took, before = [], None
    for step in range(given.steps + 20):
        if step == 20:
            finish(torch, device)
            before, first = used(), time.perf_counter()
        began = time.perf_counter()
        loss_of(model(data), labels).backward()
        optimizer.step()
        optimizer.zero_grad()
        took.append(time.perf_counter() - began)
    finish(torch, device)
    after, whole, took = used(), time.perf_counter() - first, sorted(took[20:])
    said = {"median": took[len(took) // 2] * 1e6, "mean": whole / given.steps * 1e6}
    said |= {name: (after[name] - before[name]) / given.steps for name in after}
    with open(os.path.join(given.into, f"rank{dist.get_rank()}.json"), "w", encoding="utf-8") as out:
        json.dump(said, out)
    dist.barrier()
    dist.destroy_process_group()


def finish(torch, device):
    """The host runs ahead of a GPU: a step's time is that of all steps, by their number."""
    if device.type == "cuda":
        torch.cuda.synchronize()


def used():
    of_us = resource.getrusage(resource.RUSAGE_SELF)
    with open("/proc/self/io", encoding="ascii") as file:
        counts = dict(line.split(": ") for line in file.read().splitlines())
    return {
        "processor": (of_us.ru_utime + of_us.ru_stime) * 1e6,
        "writes": int(counts["syscw"]),
        "written": int(counts["wchar"]),
    }


def one(given, watched):
    with tempfile.TemporaryDirectory() as folder:
        words = [given.python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node",
                 str(given.ranks)]
        words += [__file__, "--into", folder]
        for name in ("steps", "width", "layers", "batch", "ranks", "device"):
            words += [f"--{name}", str(getattr(given, name))]
        if watched:
            words = [given.deadrank, "watch", "-q", "--record", os.path.join(folder, "seen"), "--", *words]
        done = subprocess.run(words, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True,
                              text=True, check=False)
        files = sorted(pathlib.Path(folder).glob("rank*.json"))
        if len(files) < given.ranks:
            sys.exit(f"the small program ended with {done.returncode}: {done.stderr[-2000:]}")
        ranks = [json.loads(file.read_text()) for file in files]
        return {name: sum(rank[name] for rank in ranks) / len(ranks) for name in ranks[0]}


def middle(values):
    values = sorted(values)
    return (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2


def main():
    asked = argparse.ArgumentParser(description="What watching costs a training step.")
    asked.add_argument("--deadrank"), asked.add_argument("--python", default=sys.executable)
    asked.add_argument("--into", help="the ranks' own")
    for name, usual in (("pairs", 8), ("steps", 200), ("width", 512), ("layers", 6), ("batch", 64),
                        ("ranks", 2)):
        asked.add_argument(f"--{name}", type=int, default=usual)
    asked.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="cuda: over NCCL")
    given = asked.parse_args()
    if given.into:
        return train(given)
    pairs = []
    for number in range(given.pairs):
        order = (False, True) if number % 2 == 0 else (True, False)
        seen = {watched: one(given, watched) for watched in order}
        pairs.append((seen[False], seen[True]))
    units = {"median": "µs a step, wall clock, of the host", "mean": "µs a step, all of them by their number"}
    units |= {"processor": "µs a step, processor time of a rank"}
    units |= {"writes": "write calls a step", "written": "bytes written a step"}
    for name, unit in units.items():
        alone, watched = (middle([pair[at][name] for pair in pairs]) for at in (0, 1))
        more = middle([pair[1][name] - pair[0][name] for pair in pairs])
        share = f", {more / alone:+.1%}" if alone else ""
        print(f"{unit:38} {alone:10.0f} alone {watched:10.0f} watched, {more:+.0f}{share}", flush=True)
    return None


if __name__ == "__main__":
    main()
