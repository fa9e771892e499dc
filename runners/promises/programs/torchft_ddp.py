# runners/promises/programs/torchft_ddp.py — A replica group of one worker under torchft's Manager: a quorum
# each step, healing from a peer, and a commit vote in its optimizer wrapper.
import os
from datetime import timedelta

import torch
import torch.distributed as dist
from torchft import DistributedDataParallel, Manager, Optimizer, ProcessGroupGloo

from counted_task import STEPS, Recorder
from torch_task import Task


def main():
    unit = int(os.environ["REPLICA_GROUP_ID"])
    recorder = Recorder(unit)
    recorder.begin()
    task = Task()
    store = dist.TCPStore("localhost", 0, is_master=True, wait_for_workers=False)
    seconds = float(os.environ["DEADRANK_PROMISE_TIMEOUT"])
    manager = Manager(
        pg=ProcessGroupGloo(timeout=timedelta(seconds=seconds)), min_replica_size=1,
        load_state_dict=lambda state: task.restore(state, random=False), state_dict=task.state,
        replica_id=f"replica_{unit}", store_addr="localhost", store_port=store.port, rank=0, world_size=1,
        use_async_quorum=True, timeout=timedelta(seconds=seconds),
        quorum_timeout=timedelta(seconds=4 * seconds), connect_timeout=timedelta(seconds=2 * seconds))
    model = DistributedDataParallel(manager, task.model)
    optimizer = Optimizer(manager, task.optimizer)
    recorder.phase("restore", 0)
    recorder.write("resume", step=manager.current_step())
    while manager.current_step() < STEPS:
        step = manager.current_step()
        optimizer.zero_grad()  # starts the quorum
        recorder.phase("forward", step, task)
        samples, x, y = task.batch(step, unit, 2)
        torch.manual_seed(1000 * step + unit)
        loss = task.loss(model(x), y)
        recorder.phase("collective", step, task)
        loss.backward()
        recorder.phase("optimizer", step, task)
        optimizer.step()
        if manager.current_step() > step:
            task.schedule.step()
            # A worker that is healing takes the step of the others, without contributing a gradient.
            mine = samples if manager.is_participating() else []
            recorder.committed(manager.current_step() - 1, loss, mine)
    recorder.final(manager.current_step() - 1, **task.digests())
    manager.shutdown(wait=False)


if __name__ == "__main__":
    main()
