# tests/standin/torch_jobs.py — Unmodified PyTorch on the stand-in: one job a fault, a few at a time. Torch is
# imported once and the ranks are forked from it, so that twenty jobs cost little more than their time-outs.
import argparse
import contextlib
import io
import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import time
import traceback

from torch_rank import LINGERS, PATIENCE, TIMEOUT, be_rank

AT_ONCE = 12  # jobs: most of the time they wait. On a GPU that they share, five.


def fault(rank, nth, before="all_reduce", **alteration):
    pull = {"lever": "alter_call", **alteration}
    return {"ranks": [rank], "when": {"before": before, "nth": nth}, "pulls": [pull]}


def lever(rank, nth, name, lasts=-1, **settings):
    when = {"before": "all_reduce", "nth": nth, "lasts": lasts}
    return {"ranks": [rank], "when": when, "pulls": [{"lever": name, **settings}]}


def deviation(rank, step, does):
    """What the program itself does otherwise: torch sees it, while the plan's faults act below torch."""
    return {"faults": [], "deviation": {"rank": rank, "step": step, "does": does}}


# The monitor looks at the watchdog once in so many seconds, and once more before it ends the process.
HEARTBEAT = {"TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC": "3"}
UNWATCHED = {**HEARTBEAT, "TORCH_NCCL_ENABLE_MONITORING": "0"}
TEARS_DOWN = {"TORCH_NCCL_ASYNC_ERROR_HANDLING": "1"}  # aborts communicators before it ends the process
# Communicators that do not block: torch asks until they are ready.
WITHOUT_BLOCKING = {"TORCH_NCCL_USE_COMM_NONBLOCKING": "1"}


def stuck_call(rank, call):
    return [fault(rank, 1, before=call, never_completes=True)]


# name → faults of the plan, then what differs from the usual job
JOBS = {
    "healthy": {"faults": []},
    "healthy_without_blocking": {"faults": [], "environment": WITHOUT_BLOCKING},
    "absent_at_first_without_blocking": {
        **deviation(1, 1, "nothing"),
        "environment": {**WITHOUT_BLOCKING, "TORCH_NCCL_NONBLOCKING_TIMEOUT": "4"},
    },
    "absent": deviation(1, 3, "nothing"),
    "absent_of_three": {**deviation(2, 3, "nothing"), "ranks": 3},
    "half": deviation(1, 2, "half"),
    "broadcast": deviation(1, 3, "broadcast"),
    "straggler": {"faults": [fault(1, 3, delay=2_000_000_000)]},
    "skipped": {"faults": [fault(1, 3, skip=True)]},
    "skipped_of_three": {"faults": [fault(2, 3, skip=True)], "ranks": 3},
    "resized": {"faults": [fault(1, 2, count_set=512)]},
    "other_operation": {"faults": [fault(1, 3, op="broadcast", root=0)]},
    "stuck": {"faults": [fault(1, 3, never_completes=True)]},
    "stuck_with_timing": {
        "faults": [fault(1, 3, never_completes=True)],
        "environment": {"TORCH_NCCL_ENABLE_TIMING": "1"},
    },
    "asynchronous_error": {"faults": [fault(1, 3, never_completes=True, answer="remote_error")]},
    "refused": {"faults": [fault(1, 3, answer="system_error")]},
    "killed": {"faults": [lever(1, 3, "kill")]},
    "killed_over_network": {"faults": [lever(1, 3, "kill")], "hosts": True},
    "stopped": {"faults": [lever(1, 3, "stop")]},
    "flipped": {"faults": [fault(1, 3, flip_bit=30)]},
    "lost_message": {"faults": [fault(1, 1, before="send", skip=True)], "body": "messages"},
    "skipped_in_subgroup": {
        "faults": [fault(2, 2, skip=True, before="all_gather")],
        "ranks": 4,
        "body": "groups",
    },
    "skipped_in_subgroup_of_default_timeout": {
        "faults": [fault(2, 2, skip=True, before="all_gather")],
        "ranks": 4,
        "body": "careless_groups",
        "patience": 3 * TIMEOUT,
    },
    "watchdog_stuck": {
        "faults": stuck_call(1, "comm_get_async_error"),
        "body": "lingering",
        "environment": HEARTBEAT,
        "patience": LINGERS + 5 * TIMEOUT,
    },
    "watchdog_stuck_unwatched": {
        "faults": stuck_call(1, "comm_get_async_error"),
        "body": "lingering",
        "environment": UNWATCHED,
        "patience": LINGERS + 2 * TIMEOUT,
    },
    "abort_stuck": {
        **deviation(1, 3, "nothing"),
        "faults": stuck_call(0, "comm_abort"),
        "environment": {**HEARTBEAT, **TEARS_DOWN},
        "patience": 6 * TIMEOUT,
    },
    "abort_stuck_unwatched": {
        **deviation(1, 3, "nothing"),
        "faults": stuck_call(0, "comm_abort"),
        "environment": {**UNWATCHED, **TEARS_DOWN},
        "patience": 4 * TIMEOUT,
    },
}

# With NVIDIA's own NCCL alone, on a GPU: the drop-in loads no plugin. {shims} is where our libraries are.
def over_our_transport(*faults):
    environment = {"NCCL_NET_PLUGIN": "{shims}/libnccl-net-deadrank.so", "NCCL_SHM_DISABLE": "1"}
    return {"faults": list(faults), "hosts": True, "environment": environment}


STOCK_JOBS = {
    "transport": over_our_transport(),
    "transport_flips": over_our_transport(fault(1, 2, before="net.isend", flip_bit=30)),
    "transport_fails": over_our_transport(fault(1, 3, before="net.isend", answer="remote_error")),
    "transport_loses": over_our_transport(fault(1, 3, before="net.isend", skip=True)),
    "profiled": {  # without the interposer, beside which it does nothing
        "faults": [],
        "environment": {"NCCL_PROFILER_PLUGIN": "{shims}/libnccl-profiler-deadrank.so"},
    },
}


def job_called(name):
    """Torch 2.15 has two process groups for NCCL: absent@nccl-legacy plays one of these jobs on the other."""
    plain, _, backend = name.partition("@")
    return {**{**JOBS, **STOCK_JOBS}[plain], "backend": backend or "nccl"}


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def begin(name, job, folder):
    size = job.get("ranks", 2)
    os.makedirs(f"{folder}/dumps", exist_ok=True)
    faults = [{"fault": number, "says": name, **one} for number, one in enumerate(job["faults"])]
    with open(f"{folder}/plan.json", "w", encoding="utf-8") as file:
        json.dump({"faults": faults}, file)
    port = free_port()
    ranks = {}
    for rank in range(size):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                be_rank(job, rank, size, port, folder)
                code = 0
            except BaseException:  # the whole process is this rank's
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                os._exit(code)
        ranks[child] = rank
    return ranks


class Running:
    """The jobs that run, and how each rank ended. What is late, or has nobody left to wait for, is killed."""

    def __init__(self):
        self.owner = {}  # child → job and rank
        self.begun = {}
        self.ends = {}

    def add(self, name, ranks):
        self.owner.update({child: (name, rank) for child, rank in ranks.items()})
        self.begun[name] = time.monotonic()
        self.ends[name] = {}

    def jobs(self):
        return {name for name, _ in self.owner.values()}

    def look(self):
        child, status = os.waitpid(-1, os.WNOHANG)
        if child in self.owner:
            name, rank = self.owner.pop(child)
            code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
            seconds = round(time.monotonic() - self.begun[name], 1)
            self.ends[name][rank] = {"code": code, "seconds": seconds}
        elif child == 0:
            for name in self.jobs():
                self.end_if_late(name)
            time.sleep(0.05)

    def end_if_late(self, name):
        left = {child: rank for child, (job, rank) in self.owner.items() if job == name}
        late = time.monotonic() - self.begun[name] > job_called(name).get("patience", PATIENCE)
        waits = any(not stopped(child) and not is_absent(name, rank) for child, rank in left.items())
        if late or (self.ends[name] and not waits):
            for child in left:
                os.kill(child, signal.SIGKILL)


def is_absent(name, rank):
    other = job_called(name).get("deviation", {})
    return (other.get("rank"), other.get("does")) == (rank, "nothing")


def stopped(pid):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", encoding="ascii") as file:
        return file.read().rsplit(")", 1)[1].split()[0] == "T"
    return False


# --- what torch's own tool says of torch's own dumps
def torchfrtrace(folder):
    """Its entry point, in a child of ours: the program's own code, without another import of torch."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            try:
                from torch.distributed.flight_recorder.fr_trace import main

                main([f"{folder}/dumps", "--prefix", "rank_"])
            except BaseException as trouble:
                print(f"{type(trouble).__name__}: {trouble}")
        os.write(write, said.getvalue().encode()[:60000])
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as file:
        text = file.read().decode(errors="replace")
    os.waitpid(child, 0)
    return text


def unfinished(folder):
    """The first entry of each dump that was not completed: how far that rank came, as torch recorded it."""
    found = {}
    for name in sorted(os.listdir(f"{folder}/dumps")):
        with open(f"{folder}/dumps/{name}", "rb") as file:
            entries = pickle.load(file)["entries"]
        left = [one for one in entries if one["state"] != "completed"]
        told = ("collective_seq_id", "profiling_name", "state")
        found[name] = [left[0][key] for key in told] if left else []
    return found


def main():
    parser = argparse.ArgumentParser(description="Runs torch jobs on the stand-in and says how they ended.")
    parser.add_argument("out")
    parser.add_argument("--jobs", default=",".join(JOBS), help="names or name@backend, separated by commas")
    parser.add_argument("--at-once", type=int, default=AT_ONCE)
    options = parser.parse_args()
    import torch  # once, before the ranks are forked
    import torch.distributed  # noqa: F401

    names = options.jobs.split(",")
    running = Running()
    waiting = list(names)
    while waiting or running.owner:
        while waiting and len(running.jobs()) < options.at_once:
            name = waiting.pop(0)
            running.add(name, begin(name, job_called(name), f"{options.out}/{name}"))
        running.look()
    for name in names:
        folder = f"{options.out}/{name}"
        texts = {}
        for rank in range(job_called(name).get("ranks", 2)):
            with open(f"{folder}/rank{rank}.txt", encoding="utf-8", errors="replace") as file:
                texts[rank] = file.read()
        dumps = sorted(os.listdir(f"{folder}/dumps"))
        answer = {"ends": running.ends[name], "texts": texts, "dumps": dumps}
        answer["unfinished"] = unfinished(folder)
        answer["torchfrtrace"] = torchfrtrace(folder) if dumps else ""
        with open(f"{folder}/answer.json", "w", encoding="utf-8") as file:
            json.dump(answer, file, indent=1)
    # The program as people start it, once.
    if "skipped" in names:
        program = os.path.join(os.path.dirname(sys.executable), "torchfrtrace")
        command = [program, f"{options.out}/skipped/dumps", "--prefix", "rank_"]
        said = subprocess.run(command, capture_output=True, text=True, check=False)
        with open(f"{options.out}/torchfrtrace.txt", "w", encoding="utf-8") as file:
            file.write(said.stdout + said.stderr)


main()
