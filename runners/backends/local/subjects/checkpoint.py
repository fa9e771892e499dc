# runners/backends/local/subjects/checkpoint.py — One file per shard and a marker that names the latest step,
# as in training scripts.
import os
import time

import torch
import torch.distributed as dist

import layout


def shard_file(directory, step, shard, shards):
    return os.path.join(directory, f"step{step}", f"shard{shard}of{shards}.pt")


def save(training, directory, step):
    if layout.checkpoint_writer(int(training.writer)):
        path = shard_file(directory, step, layout.checkpoint_shard(training.shard), training.shards)
        training.check_before_save(path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        torch.save({"step": step, **training.state()}, path)
    layout.wait_for_all()
    publish(directory, step)


def publish(directory, step):
    """Writes the marker last, by one rank, atomically."""
    if dist.get_rank() == 0:
        marker = os.path.join(directory, "latest")
        with open(marker + ".new", "w", encoding="utf-8") as file:
            file.write(str(layout.checkpoint_step(step)))
        os.replace(marker + ".new", marker)


def restore(training, options):
    """The step to continue from: 0 if there is no checkpoint."""
    step = step_to_load(options)
    if step < 0:
        return 0
    shard = layout.checkpoint_to_load(training.shard)
    state = torch.load(shard_file(options.checkpoint, step, shard, training.shards))
    apply(training, state)
    return step + 1


def step_to_load(options):
    """The step of the newest checkpoint, or -1. Read by each rank alone, by each before rank 0 announces the
    step, or by rank 0 for all. After a restart, an announced one must exist and is waited for."""
    agreed, announced = options.load == "agreed", options.load == "announced"
    step = newest_step(options.checkpoint) if dist.get_rank() == 0 or not agreed else -1
    again = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") != "0"
    until = time.monotonic() + (options.store_timeout if announced and again else 0)
    while step < 0 and time.monotonic() < until:
        time.sleep(1)
        step = newest_step(options.checkpoint)
    if agreed or (announced and step >= 0):
        said = torch.tensor([step])
        dist.broadcast(said, 0)
        step = said.item()
    return step


def newest_step(directory):
    marker = os.path.join(directory, "latest")
    if not layout.checkpoint_visible(int(os.path.exists(marker))):
        return -1
    with open(marker, encoding="utf-8") as file:
        return int(file.read())


def by_place(state):
    """Matches saved parameters by position in the flat vector, wherever that begins."""
    flat = torch.cat([tensor.reshape(-1) for tensor in state.values()]).roll(-layout.first_parameter(0))
    return dict(zip(state, layout.cut_like(flat, state.values())))


def apply(training, state):
    training.restore(state)
