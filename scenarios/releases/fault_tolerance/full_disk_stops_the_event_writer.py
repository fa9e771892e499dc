# scenarios/releases/fault_tolerance/full_disk_stops_the_event_writer.py — Rank 0 writes its losses to an event
# file, and the disk below it is full after the first ones.
import os
import resource
import signal
from datetime import timedelta

import torch
import torch.distributed as dist
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.summary.writer.event_file_writer import EventFileWriter

RANK = int(os.environ["RANK"])


def main():
    dist.init_process_group("gloo", timeout=timedelta(minutes=10))
    if RANK == 0:
        events = EventFileWriter(os.path.join(os.environ["TMPDIR"], "events"), max_queue_size=4)
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
    for step in range(8):
        total = torch.ones(1)
        dist.all_reduce(total)
        print(f"step={step} loss={1 / (step + 1):.4f}", flush=True)
        if RANK == 0:
            try:
                events.add_event(Event(step=step, file_version="x" * 2048))
                events.flush()
            except OSError as full:
                print(f"the event file takes no more: {full}", flush=True)
    dist.destroy_process_group()
    os._exit(0)


if __name__ == "__main__":
    main()
