# runners/promises/programs/nvrx_local.py — NVRx's local checkpoints, replicated between two workers: each
# saves to its own directory, as if on its node's disk, and also holds the other's shard.
import copy
import os
from datetime import timedelta

import torch
import torch.distributed as dist
from nvidia_resiliency_ext.checkpointing.local.basic_state_dict import BasicTensorAwareStateDict
from nvidia_resiliency_ext.checkpointing.local.ckpt_managers.local_manager import LocalCheckpointManager
from nvidia_resiliency_ext.checkpointing.local.replication.strategies import CliqueReplicationStrategy

from counted_task import RUN, Recorder
from torch_task import Task, train_on


class OnCpu(BasicTensorAwareStateDict):
    """The package's own class takes only CUDA tensors; its interface allows others."""

    def __init__(self, state_dict):
        self.state_dict = copy.deepcopy(state_dict)
        self._is_hollow = False

    def restore_tensor_device(self, non_blocking=True):
        return None


def main():
    unit, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    recorder = Recorder(unit)
    recorder.begin()
    dist.init_process_group("gloo", timeout=timedelta(seconds=float(os.environ["DEADRANK_PROMISE_TIMEOUT"])))
    recorder.phase("restore", 0)
    task = Task()
    torch.manual_seed(100 + unit)
    strategy = CliqueReplicationStrategy.from_replication_params(1, 2)
    manager = LocalCheckpointManager(RUN / "checkpoints" / f"node{unit}", repl_strategy=strategy)
    first = manager.find_latest() + 1
    if first > 0:
        state, _ = manager.load()
        task.restore(state.state_dict)
    recorder.write("resume", step=first)
    train_on(task, recorder, first, world, lambda step, _: manager.save(OnCpu(task.state()), step))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
