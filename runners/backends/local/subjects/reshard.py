# runners/backends/local/subjects/reshard.py — Trains sharded, saves, and goes on with fewer ranks half-way:
# the new owners read the old shards. Shard i of n holds the i-th part of the flat parameters.
import itertools
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler

import checkpoint
import layout
import parallelism


def check_writers(shard):
    """Before a save: each shard has one writer."""
    ranks = dist.get_world_size()
    written = [None] * ranks
    dist.all_gather_object(written, shard)
    for wanted in range(ranks):
        writers = [rank for rank in range(ranks) if written[rank] == wanted]
        if len(writers) == 1:
            continue
        who = f"ranks {', '.join(map(str, writers))} write it" if writers else (
            f"rank {wanted} holds it, and no rank writes it"
        )
        raise RuntimeError(
            "CheckpointingException: saving checkpoint: invalid access pattern for shard "
            f"{wanted} of {ranks}: {who}"
        )


class Positions:
    """Batches by their position from the epoch's start, which is asked for every step."""

    epoch = 0
    sampler = property(lambda self: self)

    def __init__(self, training, data):
        self.training, self.data = training, data

    def __iter__(self):
        for number in itertools.count():
            position = layout.sampler_position(self.training.position(number))
            self.training.check_positions()
            yield self.batch(position)

    def batch(self, position):
        training, options = self.training, self.training.options
        sampler = DistributedSampler(
            self.data, training.replicas, training.replica, shuffle=not options.in_order, seed=options.seed
        )
        own = list(sampler)
        first = position * options.batch % len(own)
        return own[first : first + options.batch]


class Resharded(parallelism.Replicated):
    def __init__(self, options):
        self.options = options
        self.model = parallelism.toy_model(options)
        self.half, self.number = options.steps // 2, 0
        self.after = min(options.ranks_after, dist.get_world_size())
        self.fewer = dist.new_group(list(range(self.after)))  # made by all, as torch requires
        self.goes_on = dist.get_rank() < self.after
        self.cut(None)

    def cut(self, group):
        """The flat parameters over the ranks of a group, each of which updates its part."""
        self.data_group = group
        self.flat = torch.cat([parameter.detach().reshape(-1) for parameter in self.model.parameters()])
        self.length = -(-len(self.flat) // self.replicas)
        self.own = nn.Parameter(self.part_of(self.flat))
        self.optimizer = torch.optim.SGD([self.own], lr=self.options.learning_rate)  # nothing to save beside

    def part_of(self, flat):
        padded = nn.functional.pad(flat, (0, self.length * self.replicas - len(flat)))
        return padded[self.replica * self.length :][: self.length].clone()

    replica = property(lambda self: dist.get_rank())
    replicas = property(lambda self: dist.get_world_size(self.data_group))

    def steps(self):
        """The others are given back to the scheduler."""
        return self.options.steps if self.goes_on else self.half

    def position(self, number):
        """It counts samples, not steps: what all ranks have read is not read again by fewer."""
        if number < self.half:
            return number
        self.resume()
        return -(-self.half * dist.get_world_size() // self.after) + number - self.half

    def check_positions(self):
        """A loader restores its state when it is first asked."""
        if self.options.strict_data_state and self.replicas != dist.get_world_size():
            raise ValueError(
                "cannot restore the data loaders: the checkpoint has the state of "
                f"{dist.get_world_size()} data-parallel ranks, this job has {self.replicas}"
            )

    def reduce(self):
        flat = torch.cat([gradient.reshape(-1) for gradient in self.gradients_now()])
        layout.reduce_bucket(flat, self.data_group)
        self.own.grad = self.part_of(flat / layout.gradient_divisor(self.replicas))

    def step(self):
        self.optimizer.step()
        parts = [torch.empty_like(self.own) for _ in range(self.replicas)]
        dist.all_gather(parts, self.own.detach(), group=self.data_group)
        self.take(torch.cat(parts))
        self.number += 1
        if self.number == self.half:
            self.save()

    def take(self, flat):
        parameters = list(self.model.parameters())
        own = flat[: sum(parameter.numel() for parameter in parameters)]  # without the padding
        with torch.no_grad():
            for parameter, part in zip(parameters, layout.cut_like(own, parameters)):
                parameter.copy_(part)

    def file(self, shard):
        return checkpoint.shard_file(self.options.checkpoint, self.half - 1, shard, dist.get_world_size())

    def save(self):
        shard = layout.checkpoint_shard(dist.get_rank()) if layout.checkpoint_writer(1) else None
        if self.options.validate_access:
            check_writers(shard)
        if shard is not None:
            path = self.file(shard)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            torch.save({"shard": self.own.detach().clone()}, path)
        layout.wait_for_all()

    def resume(self):
        """The first step on fewer ranks begins with what all of them had saved."""
        if self.data_group is not None:
            return
        self.files = [self.file(dist.get_rank())]
        self.find_all()
        expected = layout.shards_expected(dist.get_world_size())
        if len(self.files) != expected:
            raise ValueError(
                f"Expected {expected} of 'shard*' under 'checkpoint' but found {len(self.files)} files. "
                "Possibly due to an overwrite of an old checkpoint, or a checkpoint didn't get saved by one "
                "or more processes."
            )
        self.take(torch.cat([torch.load(file)["shard"] for file in self.files]))
        self.cut(self.fewer)

    def find_all(self):
        files = [self.file(shard) for shard in range(dist.get_world_size())]
        self.files = [file for file in files if os.path.exists(file)]

    def batches(self, data):
        return iter(DataLoader(data, batch_sampler=Positions(self, data)))
