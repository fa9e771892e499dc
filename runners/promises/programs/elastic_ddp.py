# runners/promises/programs/elastic_ddp.py — DistributedDataParallel under torchrun, written as its
# documentation says: load the newest checkpoint, train, save; the agents restart it after a failure. Under
# NVRx's launcher it also sends that launcher's heartbeats.
import os
from datetime import timedelta

import torch
import torch.distributed as dist

from counted_task import SAVE_EVERY, STEPS, Recorder
from torch_task import Checkpoints, Task


class NoHeartbeats:
    def init_workload_monitoring(self):
        return None

    send_heartbeat = shutdown_workload_monitoring = init_workload_monitoring


def heartbeats():
    if "FT_RANK_MONITOR_IPC_SOCKET" not in os.environ:  # set by that launcher
        return NoHeartbeats()
    from nvidia_resiliency_ext.fault_tolerance import RankMonitorClient
    return RankMonitorClient()


def main():
    unit, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    recorder = Recorder(int(os.environ.get("GROUP_RANK", unit)))
    recorder.begin()
    dist.init_process_group("gloo", timeout=timedelta(seconds=float(os.environ["DEADRANK_PROMISE_TIMEOUT"])))
    monitor = heartbeats()
    monitor.init_workload_monitoring()
    recorder.phase("restore", 0)
    task, files = Task(), Checkpoints(unit)
    torch.manual_seed(100 + unit)  # so that dropout differs between workers
    first = files.resume(task, world)
    model = torch.nn.parallel.DistributedDataParallel(task.model)
    recorder.write("resume", step=first)
    for step in range(first, STEPS):
        monitor.send_heartbeat()
        recorder.phase("forward", step, task)
        samples, x, y = task.batch(step, unit, world)
        task.optimizer.zero_grad()
        loss = task.loss(model(x), y)
        recorder.phase("collective", step, task)
        loss.backward()
        recorder.phase("optimizer", step, task)
        task.optimizer.step()
        task.schedule.step()
        recorder.committed(step, loss, samples)
        if step % SAVE_EVERY == SAVE_EVERY - 1:
            recorder.phase("save", step, task)
            files.save(step, task)
    recorder.final(STEPS - 1, **task.digests())
    monitor.shutdown_workload_monitoring()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
