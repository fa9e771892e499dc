# sim/managed/python/deadrank/spawned.py — A program that starts its ranks itself, by mp.spawn. The simulator has started
# as many processes of it, and each runs the main program up to the first of these calls. There each becomes one of the
# spawned processes, and takes the arguments and the environment of the first. After the call, the first continues the main
# program, and the others wait for the next call.
import atexit
import json
import os
import sys
import traceback
from multiprocessing.reduction import ForkingPickler

import torch
import torch.distributed as dist

from . import channel as wire
from .channel import here, refuse_child
from .clocks import seed_all

FOREVER = 10**16  # ns
OWN = {"RANK", "LOCAL_RANK", "GROUP_RANK", "ROLE_RANK", "TMPDIR"}
LAUNCHERS = ("TORCHELASTIC_RESTART_COUNT", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID")

calls = 0  # of mp.spawn so far
meeting = None


def prepare():
    """Before the program, which may change its environment."""
    here.options["ranks"] = int(os.environ.get("WORLD_SIZE", 1))
    here.options["launched"] = any(name in os.environ for name in LAUNCHERS)
    here.options["master"] = os.environ.get("MASTER_ADDR", "127.0.0.1")


class Context:
    """What mp.spawn returns with join=False."""

    processes, sentinels = (), ()

    def pids(self):
        return []

    def join(self, timeout=None, grace_period=None):
        return True


class Meeting:
    """A store of the simulator's for the processes that mp.spawn starts."""

    def __init__(self):
        first = here.options["process"] == 0
        said = {"endpoint": f"{here.options['master']}:1", "host": first, "world": 0, "own": False}
        self.number = here.channel.ask(wire.STORE_OPEN, timeout=FOREVER, **said)["store"]

    def put(self, key, text):
        here.channel.ask(wire.STORE, store=self.number, op="set", key=key, value=text, timeout=FOREVER)

    def get(self, key):
        return here.channel.ask(wire.STORE, store=self.number, op="get", key=key, timeout=FOREVER)["value"]


def play(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """In place of torch.multiprocessing.start_processes."""
    global meeting
    if here.options["launched"]:
        refuse_child()
    place, ranks = here.options["process"], here.options["ranks"]
    if nprocs > ranks or (nprocs < ranks and not calls):
        raise RuntimeError(
            f"deadrank: mp.spawn starts {nprocs} processes, and this run has {ranks}. Pass --ranks {nprocs}."
        )
    if meeting is None:
        meeting = Meeting()
        if place == 0:
            atexit.register(dismiss)
    if place != 0:
        follow(fn, args)
    begin(fn, args, nprocs)
    work(0, fn, args)
    for other in range(1, nprocs):
        meeting.get(f"{calls}/over/{other}")
    return None if join else Context()


def begin(fn, args, nprocs):
    """The first process gives the others what a spawned process would get from its parent. They have come to the first
    call by themselves, and know its function."""
    global calls
    calls += 1
    try:
        pickled = bytes(ForkingPickler.dumps(args if calls == 1 else (fn, args))).decode("latin-1")
    except Exception:  # queues and locks: each process keeps its own
        if calls > 1:
            raise RuntimeError(
                "deadrank: the arguments of a second mp.spawn cannot be pickled. Start one mp.spawn a run."
            ) from None
        pickled = None
    variables = {name: value for name, value in os.environ.items() if name not in OWN}
    meeting.put(f"{calls}/begin", json.dumps([nprocs, pickled, variables]))


def follow(fn, args):
    """One of the other processes, for as long as the first one runs."""
    global calls
    place = here.options["process"]
    while True:
        calls += 1
        try:
            said = meeting.get(f"{calls}/begin")
        except Exception:  # the first process was killed
            raise SystemExit(0) from None
        if not said:
            raise SystemExit(0)
        nprocs, pickled, variables = json.loads(said)
        os.environ.update(variables)
        if place >= nprocs:
            continue
        given = args if pickled is None else ForkingPickler.loads(pickled.encode("latin-1"))
        work(place, *((fn, given) if calls == 1 else given))


def dismiss():
    """The first process ends."""
    if here.channel is not None and not here.channel.closing:
        meeting.put(f"{calls + 1}/begin", "")


def work(place, fn, args):
    environment = dict(os.environ)
    try:
        fn(place, *args)
    except Exception as trouble:
        end_with(trouble, place)
    forget(environment)
    meeting.put(f"{calls}/over/{place}", "1")


def forget(environment):
    """A spawned process ends here, with its groups, its device and its variables. What it drew does not concern the
    next one."""
    os.environ.clear()
    os.environ.update(environment)
    if dist.is_available() and dist.is_initialized():
        dist.destroy_process_group()
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.set_device(0)
    seed_all(here.options["seed"], here.options["process"])


def end_with(trouble, place):
    from .launch import hide_frames

    if place == 0:
        from torch.multiprocessing.spawn import ProcessRaisedException

        text = f"\n\n-- Process 0 terminated with the following error:\n{traceback.format_exc()}"
        raise ProcessRaisedException(text, 0, os.getpid()) from None
    hide_frames(trouble)
    sys.excepthook(type(trouble), trouble, trouble.__traceback__)
    raise SystemExit(1)
