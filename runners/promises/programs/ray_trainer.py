# runners/promises/programs/ray_trainer.py — Ray Train's TorchTrainer with two workers on its own Ray
# instance: FailureConfig handles failures, and state is kept in the checkpoints that workers report.
import os
import pathlib
import tempfile

import ray
import ray.train
import torch
import torch.distributed as dist
from ray.train import Checkpoint, CheckpointConfig, FailureConfig, RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer

from counted_task import RUN, Recorder
from torch_task import Task, train_on


def train():
    context = ray.train.get_context()
    unit, world = context.get_world_rank(), context.get_world_size()
    recorder = Recorder(unit)
    recorder.begin()
    recorder.phase("restore", 0)
    task, first = Task(), 0
    torch.manual_seed(100 + unit)
    if checkpoint := ray.train.get_checkpoint():
        with checkpoint.as_directory() as place:
            saved = torch.load(pathlib.Path(place) / f"{unit}.pt", weights_only=False)
        task.restore(saved["task"])
        first = saved["step"] + 1
    recorder.write("resume", step=first)

    def save(step, loss):
        with tempfile.TemporaryDirectory() as place:
            torch.save({"step": step, "task": task.state()}, pathlib.Path(place) / f"{unit}.pt")
            ray.train.report({"loss": float(loss)}, checkpoint=Checkpoint.from_directory(place))

    train_on(task, recorder, first, world, save)
    dist.barrier()


def main():
    ray.init(num_cpus=3, include_dashboard=False, object_store_memory=100 << 20,
             _temp_dir=os.environ["RAY_HOME"])
    trainer = TorchTrainer(
        train, scaling_config=ScalingConfig(num_workers=2, resources_per_worker={"CPU": 1}),
        torch_config=ray.train.torch.TorchConfig(backend="gloo", timeout_s=int(float(
            os.environ["DEADRANK_PROMISE_TIMEOUT"]))),
        run_config=RunConfig(name="promise", storage_path=str(RUN / "checkpoints"),
                             failure_config=FailureConfig(max_failures=3),
                             checkpoint_config=CheckpointConfig(num_to_keep=2)))
    trainer.fit()
    ray.shutdown()


if __name__ == "__main__":
    main()
