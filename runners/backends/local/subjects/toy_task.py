# runners/backends/local/subjects/toy_task.py — What the subjects on other frameworks' APIs train: a small
# network on fixed random samples, with one line per step. It knows nothing of faults.
import itertools
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, Sampler, TensorDataset

import layout


def add_arguments(parser):
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--step-seconds", type=float, default=0.0)
    parser.add_argument("--width", type=int, default=8)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--samples", type=int, default=256)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--learning-rate", type=float, default=0.01)
    parser.add_argument("--timeout", type=float, default=10.0)
    parser.add_argument("--checkpoint", default="")
    parser.add_argument("--checkpoint-every", type=int, default=0)


def overruled(options, **variables):
    """A node's own profile overrules the command line: overruled(options, width="HIDDEN_SIZE")."""
    for option, variable in variables.items():
        setattr(options, option, int(os.environ.get(variable, getattr(options, option))))
    return options


def model(width):
    layers = (nn.Linear(width, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))
    return nn.Sequential(*layers)


class Rest(Sampler):
    """The part of a sampler's first epoch that was not trained on before a restart."""

    def __init__(self, sampler):
        self.sampler, self.skipped, self.epoch = sampler, 0, 0

    def __iter__(self):
        return itertools.islice(iter(self.sampler), self.skipped, None)

    def __len__(self):
        return len(self.sampler) - self.skipped


def endless(loader, distributed, first, epoch_in_seed=False):
    """Batch after batch, epoch after epoch, from step `first` on. The loader's sampler is a Rest."""
    seed = distributed.seed
    rest, (epoch, batches_done) = loader.sampler, divmod(first, len(loader))
    rest.skipped = batches_done * loader.batch_size
    while True:
        distributed.set_epoch(layout.sampler_epoch(epoch))
        distributed.seed = seed + epoch if epoch_in_seed else seed
        rest.epoch = epoch
        yield from loader
        rest.skipped, epoch = 0, epoch + 1


def batches(options, replicas, replica, first=0):
    """Endless batches of one replica's share, all of one size."""
    generator = torch.Generator().manual_seed(7)
    features = torch.randn(options.samples, options.width, generator=generator)
    data = TensorDataset(features, features.pow(2).mean(1, keepdim=True))
    sampler = DistributedSampler(data, replicas, replica, seed=options.seed)
    loader = DataLoader(data, batch_size=options.batch, sampler=Rest(sampler), drop_last=True)
    return endless(loader, sampler, first)


def show(step, loss, sharers=0):
    """One line with the mean over all ranks, or over the `sharers` that know a loss."""
    mean = loss.detach().reshape(1).clone()
    dist.all_reduce(mean)
    print(f"step={step} loss={float(mean) / (sharers or dist.get_world_size()):.6f}", flush=True)


def leave():
    dist.barrier()
    dist.destroy_process_group()
    print("done", flush=True)
