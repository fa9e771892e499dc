# runners/promises/programs/nvrx_inprocess.py — A training function in NVRx's in-process Wrapper: two ranks
# are active and one is a spare; after a fault the function is called again in the surviving processes.
import logging
import os
from datetime import timedelta
from typing import Optional

import torch
import torch.distributed as dist
import nvidia_resiliency_ext.inprocess as inprocess

from counted_task import Recorder
from torch_task import Checkpoints, Task, train_on

SECONDS = float(os.environ["DEADRANK_PROMISE_TIMEOUT"])


@inprocess.Wrapper(
    store_kwargs={"timeout": timedelta(seconds=60), "port": int(os.environ["WRAPPER_PORT"])},
    rank_assignment=inprocess.Compose(
        inprocess.rank_assignment.MaxActiveWorldSize(2), inprocess.rank_assignment.ShiftRanks()),
    monitor_thread_interval=timedelta(seconds=0.5), monitor_process_interval=timedelta(seconds=0.5),
    heartbeat_interval=timedelta(seconds=0.5), progress_watchdog_interval=timedelta(seconds=0.5),
    soft_timeout=timedelta(seconds=SECONDS), hard_timeout=timedelta(seconds=1.6 * SECONDS),
    heartbeat_timeout=timedelta(seconds=SECONDS), barrier_timeout=timedelta(seconds=30),
    completion_timeout=timedelta(seconds=30), last_call_wait=timedelta(seconds=0.5),
    termination_grace_time=timedelta(seconds=1))
def train(base_store, call_wrapper: Optional[inprocess.CallWrapper] = None):
    unit, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    recorder = Recorder(unit)
    recorder.begin()
    store = dist.PrefixStore(str(call_wrapper.iteration), base_store)
    dist.init_process_group("gloo", timeout=timedelta(seconds=SECONDS), store=store, rank=unit,
                            world_size=world)
    recorder.phase("restore", 0)
    task, files = Task(), Checkpoints(unit)
    torch.manual_seed(100 + unit)
    first = files.resume(task, world)
    recorder.write("resume", step=first)
    train_on(task, recorder, first, world, lambda step, _: files.save(step, task))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    train(dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]),
                        int(os.environ["WORLD_SIZE"]), is_master=os.environ["RANK"] == "0",
                        wait_for_workers=True))
