# scenarios/releases/fault_tolerance/lost_directory_stops_the_event_writer.py — Rank 0 writes its losses to an
# event file, and the directory of that file is cleaned away while it trains.
import os
import shutil
from datetime import timedelta

import torch
import torch.distributed as dist
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.summary.writer.event_file_writer import EventFileWriter

RANK = int(os.environ["RANK"])
EVENTS = os.path.join(os.environ["TMPDIR"], "events")


def main():
    dist.init_process_group("gloo", timeout=timedelta(minutes=10))
    events = EventFileWriter(EVENTS, max_queue_size=4) if RANK == 0 else None
    for step in range(8):
        dist.all_reduce(torch.ones(1))
        print(f"step={step} loss={1 / (step + 1):.4f}", flush=True)
        if step == 2 and events:
            shutil.rmtree(EVENTS)
        if events:
            try:
                events.add_event(Event(step=step, wall_time=1.0))
                events.flush()
            except OSError as lost:
                print(f"the event file takes no more: {type(lost).__name__}", flush=True)
    dist.destroy_process_group()
    os._exit(0)


if __name__ == "__main__":
    main()
