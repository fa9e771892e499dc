# tests/sim/managed/programs/threads.py — A watchdog thread, an asynchronous saver with a group of its own, a
# producer, a queue and time-outs. All times are
# exact, since they are virtual.
import concurrent.futures
import queue
import threading
import time

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
own_group = dist.new_group()
beats, stop, began = [], threading.Event(), time.monotonic()


def watch():
    while not stop.wait(5):
        beats.append(round(time.monotonic() - began, 1))


def save():
    time.sleep(3 + rank)
    total = torch.ones(1)
    dist.all_reduce(total, group=own_group)
    return total.item()


def produce():
    for number in range(3):
        numbers.put(number)
        time.sleep(1)


watchdog = threading.Thread(target=watch, daemon=True)
watchdog.start()
savers = concurrent.futures.ThreadPoolExecutor(1)
numbers = queue.Queue()
threading.Thread(target=produce, daemon=True).start()
saved = savers.submit(save)
for step in range(3):
    gradient = torch.ones(1) * numbers.get()
    dist.all_reduce(gradient)
    assert gradient.item() == world * step
    time.sleep(4)
assert saved.result() == world
before = time.monotonic()
try:
    numbers.get(timeout=2.5)
    raise SystemExit("the queue should be empty")
except queue.Empty:
    assert abs(time.monotonic() - before - 2.5) < 0.001
stop.set()
watchdog.join()
if rank == 0:
    print("ok threads beats", *beats, flush=True)
dist.destroy_process_group()
