# sim/managed/python/deadrank/subprocesses.py — Processes that a rank starts (workers of a data loader, shells) run
# in real time, with real clocks and locks. A thread that waits for one of them lets the others go on.
import ctypes
import os
import signal
import time

from .channel import here

REAL_SECONDS = 0.02  # that a rank waits for its children before it waits for the simulator
PR_SET_PDEATHSIG = 1

monotonic = time.monotonic


def patience(inside):
    """`inside`: whether other threads wait for something that the simulator decides."""
    return REAL_SECONDS if inside else 3600.0


def wait_outside(look, timeout=None):
    """Waits until look(seconds) finds something outside of the simulation, at most so many seconds. Work of
    other processes takes no virtual time."""
    from .threads import until

    turns = here.turns
    if look(0):
        return
    if turns.alone:
        end = None if timeout is None else monotonic() + timeout
        while not look(0.5 if end is None else max(0.0, min(0.5, end - monotonic()))):
            if end is not None and monotonic() >= end:
                turns.sleep_until(until(timeout))
                return
        return
    actor = turns.running
    actor.outside = look
    try:
        turns.pause(actor, until(timeout))
    finally:
        actor.outside = None


def leave_simulation():
    """In a child that was forked by a rank: it must not use the rank's channel."""
    channel = here.channel
    if channel is None:
        return
    here.channel = here.turns = None
    here.orphan = True
    os.close(channel.socket.detach())
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def install():
    os.register_at_fork(before=fork_begins, after_in_child=leave_simulation)


def fork_begins():
    """What is written but not flushed would come twice."""
