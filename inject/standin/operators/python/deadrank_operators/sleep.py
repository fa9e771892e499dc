# inject/standin/operators/python/deadrank_operators/sleep.py — torch.cuda._sleep, a kernel that keeps its stream busy for
# so many cycles. It is no operator, so no dispatch key replaces it.
import ctypes
import time

import torch

CYCLES_PER_NS = 1.98  # an H100's boost clock


def install():
    torch._C._cuda_sleep = torch.cuda._sleep = sleep


def sleep(cycles):
    ns = int(cycles / CYCLES_PER_NS)
    library = ctypes.CDLL(None)
    torch.cuda.init()
    if library.deadrank_time_is_virtual():
        library.deadrank_stream_charge.argtypes = (ctypes.c_void_p, ctypes.c_int64)
        library.deadrank_stream_charge(torch._C._cuda_getCurrentRawStream(torch.cuda.current_device()), ns)
    else:
        time.sleep(ns / 1e9)
