# sim/managed/python/deadrank/graphs.py — Calls of a group while a CUDA graph is captured: they are kept instead of made,
# and each launch of the graph makes them (inject/standin/device/captured_work.h).
import ctypes
import functools
import itertools

import torch

from .channel import here
from .dispatcher import CALLS

PLAY = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
COALESCING = ("_start_coalescing", "_end_coalescing")
kept = {}  # number → the two functions that C calls
numbers = itertools.count(1)
failures = []  # a function that C calls cannot raise


def keep_calls(kind):
    """Each call of the class `kind` is kept while the stream of its device is captured."""
    for name in (*CALLS, *COALESCING):
        if name != "barrier" and name in vars(kind):
            setattr(kind, name, keeping(vars(kind)[name]))


def keeping(call):
    @functools.wraps(call)
    def keep_or_call(self, *args, **said):
        devices = getattr(here.channel, "devices", None)
        if devices is None or not devices.captures_open() or not torch.cuda.is_current_stream_capturing():
            return call(self, *args, **said)

        def play():
            work = call(self, *args, **said)
            if work is not None:
                work.wait()

        keep(devices, play)
        from .works import Work

        return Work.of_all(self, [])

    return keep_or_call


def keep(devices, play):
    raise_failures_after_replay()
    number = next(numbers)

    def play_or_note(_):
        if failures:
            return
        try:
            play()
        except BaseException as trouble:  # also what ends the rank
            failures.append(trouble)

    kept[number] = PLAY(play_or_note), PLAY(lambda _: kept.pop(number, None))
    stream = torch._C._cuda_getCurrentRawStream(torch.cuda.current_device())
    devices.graph_add_call(stream, *kept[number], number)


def raise_failures_after_replay():
    kind = torch.cuda.CUDAGraph
    if getattr(kind.replay, "raises_failures", False):
        return
    replay = kind.replay

    @functools.wraps(replay)
    def replay_and_raise(graph):
        replay(graph)
        if failures:
            trouble = failures[0]
            failures.clear()
            raise trouble

    replay_and_raise.raises_failures = True
    kind.replay = replay_and_raise
