#!/usr/bin/env python3
# tests/others/managed_frameworks.py — Small programs of frameworks on the simulated cluster, each with faults at rank 1:
# does the verdict name it? managed_frameworks.py --deadrank PROGRAM --python PYTHON [--only NAME ...] [--faults NAME ...]
import argparse
import json
import os
import subprocess
import tempfile

START = """
import os, sys, torch, torch.distributed as dist, torch.nn as nn
dist.init_process_group("nccl")
rank, ranks = dist.get_rank(), dist.get_world_size()
torch.manual_seed(1)
model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 32))
data = torch.Generator().manual_seed(rank)
"""
LOOP = """
for step in range(12):
    loss = model(torch.randn(8, 32, generator=data)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 3 == 2: save(step)
dist.destroy_process_group()
"""
SGD = "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
ONE_FILE = """
def save(step):
    if rank == 0: torch.save(model.state_dict(), f"step{step}.pt")
    dist.barrier()
"""
SHARDS = """
def save(step):
    torch.save({"rank": rank, "step": step}, f"step{step}-{rank}.pt")
    dist.barrier()
"""
# The program, and the call at which faults act.
PROGRAMS = {
    "DDP": (START + "model = nn.parallel.DistributedDataParallel(model)\n" + SGD + ONE_FILE + LOOP, "all_reduce"),
    "FSDP1": (
        START
        + "from torch.distributed.fsdp import FullyShardedDataParallel as FSDP\n"
        + "model = FSDP(model, device_id=torch.device('cpu'))\n"
        + SGD
        + SHARDS
        + LOOP,
        "reduce_scatter",
    ),
    "FSDP2": (
        START
        + "from torch.distributed.fsdp import fully_shard\n"
        + "from torch.distributed.device_mesh import init_device_mesh\n"
        + "fully_shard(model, mesh=init_device_mesh('cpu', (ranks,)))\n"
        + SGD
        + SHARDS
        + LOOP,
        "reduce_scatter",
    ),
    "DTensor": (
        START
        + "from torch.distributed.device_mesh import init_device_mesh\n"
        + "from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module\n"
        + "mesh = init_device_mesh('cpu', (ranks,))\n"
        + "model = parallelize_module(model, mesh, {'0': ColwiseParallel(), '2': RowwiseParallel()})\n"
        + "data = torch.Generator().manual_seed(7)\n"
        + SGD
        + SHARDS
        + LOOP,
        "all_reduce",
    ),
    "pipelining": (
        START
        + """
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe
part = nn.Linear(32, 32)
schedule = ScheduleGPipe(PipelineStage(part, rank, ranks, torch.device("cpu")), 4, loss_fn=nn.MSELoss())
optimizer = torch.optim.SGD(part.parameters(), lr=0.1)
"""
        + SHARDS
        + """
for step in range(12):
    x = torch.randn(8, 32, generator=data)
    optimizer.zero_grad()
    if rank == 0: schedule.step(x)
    elif rank == ranks - 1: schedule.step(target=x)
    else: schedule.step()
    optimizer.step()
    if step % 3 == 2: save(step)
dist.destroy_process_group()
""",
        "send",
    ),
    "DCP": (
        START
        + "import torch.distributed.checkpoint as checkpoint\n"
        + "model = nn.parallel.DistributedDataParallel(model)\n"
        + SGD
        + """
def save(step):
    checkpoint.save({"model": model.state_dict()}, checkpoint_id=f"step{step}")
"""
        + LOOP,
        "all_reduce",
    ),
}
for stage, call in ((1, "all_reduce"), (3, "all_gather")):
    PROGRAMS[f"DeepSpeed ZeRO {stage}"] = (
        """
import os
os.environ.setdefault("DS_ACCELERATOR", "cpu")
import deepspeed, torch, torch.distributed as dist, torch.nn as nn
deepspeed.init_distributed("gloo", verbose=False)
rank = dist.get_rank()
torch.manual_seed(1)
model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 32))
config = {"train_micro_batch_size_per_gpu": 8, "steps_per_print": 10**9, "zero_allow_untested_optimizer": True,
          "zero_optimization": {"stage": %d, "stage3_param_persistence_threshold": 0}}
engine = deepspeed.initialize(model=model, optimizer=torch.optim.SGD(model.parameters(), lr=0.1), config=config)[0]
data = torch.Generator().manual_seed(rank)
for step in range(12):
    loss = engine(torch.randn(8, 32, generator=data)).square().mean()
    engine.backward(loss)
    engine.step()
    if step %% 3 == 2: engine.save_checkpoint("saved", tag=str(step))
"""
        % stage,
        call,
    )

SCENARIO = """format = 1
backends = ["sim"]
[bug]
stage = "{stage}"
symptom = "{symptom}"
cause = "{cause}"
fix = "validation_and_failure_handling"
[cluster]
nodes = 2
[workload]
kind = "data_parallel"
[[fault]]
{fault}
[expect]
symptom = "{symptom}"
blames = ["{blames}"]
within = "15m"
also = [{also}]
others = "none"
reaction = "any"
[heal]
fault = "none"
says = "without it"
"""
FAULTS = {
    "kill": {
        "stage": "communication",
        "symptom": "native_crash_or_illegal_access",
        "cause": "hardware_or_link_fault",
        "also": '"remote_peer_connection_error", "collective_deadlock_hang"',
        "fault": 'kind = "kill_rank"\nrank = 1\nwhen = {{ step = 5, before = "{call}" }}',
        "blames": "rank",
    },
    "left out": {
        "stage": "communication",
        "symptom": "collective_timeout_abort",
        "cause": "rank_divergent_control_flow",
        "also": '"collective_deadlock_hang", "collective_mismatch_error"',
        "fault": 'kind = "skip_collective"\nrank = 1\nwhen = {{ step = 5, before = "{call}" }}',
        "blames": "rank",
    },
    "straggler": {
        "stage": "scheduling",
        "symptom": "straggler_step_time_skew",
        "cause": "rank_local_slowdown",
        "also": "",
        "fault": 'kind = "delay_collective"\nrank = 1\nby = "50ms"\nwhen = {{ step = 3, before = "{call}", always = true }}',
        "blames": "rank",
    },
    "full disk": {
        "stage": "fault_tolerance",
        "symptom": "checkpoint_save_failure",
        "cause": "hardware_or_link_fault",
        "also": '"host_resource_exhaustion", "framework_runtime_exception"',
        "fault": 'kind = "fill_storage"\nfree = 4\nwhen = {{ step = 4 }}',
        "blames": "component",
    },
}


def play(said, place, name, fault):
    text, call = PROGRAMS[name]
    words = FAULTS[fault]
    with open(os.path.join(place, "train.py"), "w", encoding="ascii") as file:
        file.write(text)
    with open(os.path.join(place, "fault.toml"), "w", encoding="ascii") as file:
        file.write(SCENARIO.format(**{**words, "fault": words["fault"].format(call=call)}))
    command = [os.path.abspath(said.deadrank), "run", "fault.toml", "--json", "--no-heal", "--", "torchrun", "--nnodes=2"]
    answer = subprocess.run(
        [*command, "--nproc-per-node=2", "train.py"],
        cwd=place,
        env={**os.environ, "DEADRANK_PYTHON": said.python},
        capture_output=True,
        text=True,
        timeout=600,
    )
    try:
        return json.loads(answer.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        return {"verdict": "unknown", "reason": (answer.stderr or answer.stdout).strip()[:300]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--deadrank", required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("--only", nargs="*", default=list(PROGRAMS))
    parser.add_argument("--faults", nargs="*", default=list(FAULTS))
    said = parser.parse_args()
    print("| program | " + " | ".join(said.faults) + " |\n|" + "---|" * (len(said.faults) + 1))
    reasons = []
    for name in said.only:
        cells = []
        for fault in said.faults:
            with tempfile.TemporaryDirectory() as place:
                told = play(said, place, name, fault)
            cells.append(told["verdict"])
            if told["verdict"] != "pass":
                reasons.append(f"- {name}, {fault}: {told.get('reason', '')}")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    print("\n".join(["", *reasons]))


if __name__ == "__main__":
    main()
