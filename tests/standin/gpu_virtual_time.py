# tests/standin/gpu_virtual_time.py — Streams in virtual time, in a child of a process that has imported
# torch. Prints durations in microseconds, as JSON.
import ctypes
import json
import os
import sys

os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"  # the parent must not initialise CUDA
import torch

library = ctypes.CDLL(None)
library.deadrank_host_now.restype = ctypes.c_int64


def now():
    return library.deadrank_host_now() / 1e3


def duration(action):
    """Takes an action, and returns its time on the host, and until the device is idle."""
    torch.cuda.synchronize()
    began = now()
    action()
    enqueued = now()
    torch.cuda.synchronize()
    return round(enqueued - began, 3), round(now() - began, 3)


def measure():
    assert library.deadrank_use_virtual_time(None) == 0
    torch.set_num_threads(1)
    a, b = torch.ones(1024, 1024, device="cuda"), torch.ones(1024, 1024, device="cuda")
    side = torch.cuda.Stream()
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(2)]

    def both_here():
        a @ b
        a @ b

    def on_two_streams():
        a @ b
        with torch.cuda.stream(side):
            a @ b

    def waiting():
        a @ b
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            a @ b

    def polled():
        a @ b
        marks[0].record()
        while not marks[0].query():
            pass

    answers = {
        "one": duration(lambda: a @ b),
        "both here": duration(both_here),
        "on two streams": duration(on_two_streams),
        "one waits for the other": duration(waiting),
        "polled": duration(polled),
        "a value": duration(lambda: (a @ b).sum().item()),
        "half": duration(lambda: a.half() @ b.half()),
    }
    marks[0].record()
    a @ b
    marks[1].record()
    torch.cuda.synchronize()
    answers["between events"] = round(marks[0].elapsed_time(marks[1]) * 1e3, 3)
    answers["value"] = (a @ b)[0, 0].item()
    answers["threads"] = len(os.listdir("/proc/self/task"))
    answers["device"] = (
        torch.cuda.get_device_name(),
        torch.cuda.get_device_capability(),
        torch.cuda.device_count(),
    )
    answers["memory"] = torch.cuda.mem_get_info()[1] >> 20
    return answers


for _ in range(2):  # two children of one parent
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        print(json.dumps(measure()), flush=True)
        os._exit(0)
    if os.waitpid(child, 0)[1] != 0:
        sys.exit("a child failed")
