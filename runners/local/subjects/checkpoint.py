# runners/local/subjects/checkpoint.py — One file a shard and a marker that names the latest step, as
# training scripts do it.
import os

import torch

import layout


def shard_file(directory, step, shard, shards):
    return os.path.join(directory, f"step{step}", f"shard{shard}of{shards}.pt")


def save(training, directory, step):
    if training.writer:
        path = shard_file(directory, step, layout.checkpoint_shard(training.shard), training.shards)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        torch.save({"step": step, **training.state()}, path)
    layout.wait_for_all()
    publish(directory, step)


def publish(directory, step):
    """The marker is written last, by one rank, in one move."""
    if torch.distributed.get_rank() == 0:
        marker = os.path.join(directory, "latest")
        with open(marker + ".new", "w", encoding="utf-8") as file:
            file.write(str(layout.checkpoint_step(step)))
        os.replace(marker + ".new", marker)


def restore(training, directory):
    """The step to go on from: 0 when there is no checkpoint."""
    marker = os.path.join(directory, "latest")
    if not os.path.exists(marker):
        return 0
    with open(marker, encoding="utf-8") as file:
        step = int(file.read())
    state = torch.load(shard_file(directory, step, training.shard, training.shards))
    apply(training, state)
    return step + 1


def apply(training, state):
    training.restore(state)
