# sim/managed/python/deadrank/spawned.py — A program that starts its ranks itself, by mp.spawn. The simulator has started
# as many processes of it, and each runs the main program up to that call. There each becomes one of the spawned
# processes, with the arguments and the environment of the first, which goes on as the main program afterwards.
import json
import os
import sys
import traceback
from multiprocessing.reduction import ForkingPickler

from . import channel as wire
from .channel import here, refuse_child

FOREVER = 10**16  # ns
OWN = {"RANK", "LOCAL_RANK", "GROUP_RANK", "ROLE_RANK", "TMPDIR"}
LAUNCHERS = ("TORCHELASTIC_RESTART_COUNT", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID")

calls = []  # of mp.spawn so far


def begin():
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
    """A store of the simulator's for the processes of one call of mp.spawn."""

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
    if here.options["launched"]:
        refuse_child()
    place, ranks = here.options["process"], here.options["ranks"]
    if nprocs != ranks:
        raise RuntimeError(
            f"deadrank: mp.spawn starts {nprocs} processes, and this run has {ranks}. Pass --ranks {nprocs}."
        )
    calls.append(fn)
    meeting = Meeting()
    args = share(meeting, args)
    try:
        fn(place, *args)
    except Exception as trouble:
        end_with(trouble, place)
    meeting.put(f"{len(calls)}/over/{place}", "1")
    if place != 0:
        raise SystemExit(0)
    for other in range(1, ranks):
        meeting.get(f"{len(calls)}/over/{other}")
    return None if join else Context()


def share(meeting, args):
    """The first process's arguments and environment, which a spawned process would get from its parent."""
    key = f"{len(calls)}/begin"
    if here.options["process"] == 0:
        try:
            pickled = bytes(ForkingPickler.dumps(args)).decode("latin-1")
        except Exception:  # queues and locks: each process keeps its own
            pickled = None
        variables = {name: value for name, value in os.environ.items() if name not in OWN}
        meeting.put(key, json.dumps([pickled, variables]))
        return args
    pickled, variables = json.loads(meeting.get(key))
    os.environ.update(variables)
    return args if pickled is None else ForkingPickler.loads(pickled.encode("latin-1"))


def end_with(trouble, place):
    from .launch import hide_frames

    if place == 0:
        from torch.multiprocessing.spawn import ProcessRaisedException

        text = f"\n\n-- Process 0 terminated with the following error:\n{traceback.format_exc()}"
        raise ProcessRaisedException(text, 0, os.getpid()) from None
    hide_frames(trouble)
    sys.excepthook(type(trouble), trouble, trouble.__traceback__)
    raise SystemExit(1)
