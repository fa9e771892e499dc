#!/usr/bin/env python3
# tests/others/parts.py — What each part of the hook takes of a rank's host, measured in one process over
# gloo, and what follows for a step on GPUs: a model, since the host's work is the same there, and only its
# share differs.
#   parts.py --python PYTHON [--hook DIR] [--collectives 100] [--modules 500] [--tensors 300] [--step 0.5]
import argparse
import gc
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HOOK = pathlib.Path(__file__).resolve().parents[2] / "runners" / "backends" / "local" / "hook"
FEW = 8  # modules of the model that is measured, each with two tensors


def took(call, times=200):
    """The least of twenty rounds, in microseconds: others' work on the machine only adds."""
    rounds = []
    for _ in range(20):
        began = time.process_time_ns()
        for _ in range(times):
            call()
        rounds.append((time.process_time_ns() - began) / times / 1e3)
    return min(rounds)


def measure():
    import deadrank_hook
    import torch
    import torch.distributed as dist
    from deadrank_hook.groups import inside
    from torch import nn

    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    model = nn.parallel.DistributedDataParallel(nn.Sequential(*[nn.Linear(64, 64) for _ in range(FEW)]))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    hook = next(one for one in gc.get_objects() if isinstance(one, deadrank_hook.Hook))
    training, replicas, some = hook.training, hook.replicas, torch.zeros(64)
    hook.step = 17  # behind the first steps, of which more is recorded

    def step():
        training.new_work()
        training.stepped = True
        training.end()

    def digest():
        replicas.will_step(optimizer)
        hook.step = 32
        replicas.digests()

    def unseen(call):
        inside.call = True
        answer = took(call)
        inside.call = False
        return answer

    def reduce():
        dist.all_reduce(some)

    activation = nn.ReLU()
    training.inside.forward = True
    module = took(lambda: activation(some)) - took(lambda: activation._wrapped_call_impl(some))
    training.inside.forward = False
    return {"step": took(step), "collective": took(reduce) - unseen(reduce), "module": max(0.0, module),
            "tensor": took(digest) / (2 * FEW)}


def main():
    asked = argparse.ArgumentParser(description="What the hook's parts cost, and a model of a step on GPUs.")
    asked.add_argument("--python", default=sys.executable), asked.add_argument("--hook", default=HOOK)
    asked.add_argument("--inside", action="store_true")
    for name, usual in (("collectives", 100), ("modules", 500), ("tensors", 300)):
        asked.add_argument(f"--{name}", type=int, default=usual)
    asked.add_argument("--step", type=float, default=0.5, help="seconds that the step takes")
    given = asked.parse_args()
    if given.inside:
        print("parts", *measure().values())
        return
    with tempfile.TemporaryDirectory() as folder:
        alone = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29617", "WORLD_SIZE": "1", "RANK": "0"}
        hook = {"PYTHONPATH": str(given.hook), "DEADRANK_WATCH": "1"}
        seen = {**os.environ, **alone, **hook, "DEADRANK_EVIDENCE": f"{folder}/evidence"}
        done = subprocess.run([given.python, __file__, "--inside"], env=seen, capture_output=True, text=True,
                              check=False)
    said = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("parts ")]
    if not said:
        sys.exit(done.stderr[-2000:])
    step, collective, module, tensor = map(float, said[0])
    looked = min(given.tensors, 64) / 8  # at most 64 tensors in every eighth step
    total = step + given.collectives * collective + given.modules * module + looked * tensor
    print(f"µs of the host: {step:.0f} a step, {collective:.0f} a collective, {module:.2f} an inner module, "
          f"{tensor:.1f} a looked-at tensor")
    print(f"a model: {given.collectives} collectives, {given.modules} modules, {given.tensors} tensors take "
          f"{total / 1e3:.1f} ms of the host, {total / given.step / 1e4:.2f} % of a step of {given.step:g} s")


if __name__ == "__main__":
    main()
