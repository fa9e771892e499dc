# runners/local/subjects/toy_task.py — What the subjects on other people's APIs train: a small network
# on fixed random samples, with one line a step. It knows nothing of faults.
import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


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


def model(width):
    layers = (nn.Linear(width, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))
    return nn.Sequential(*layers)


def batches(options, replicas, replica):
    """Endless batches of one replica's share, all of one size."""
    generator = torch.Generator().manual_seed(7)
    features = torch.randn(options.samples, options.width, generator=generator)
    data = TensorDataset(features, features.pow(2).mean(1, keepdim=True))
    sampler = DistributedSampler(data, replicas, replica, seed=options.seed)
    loader = DataLoader(data, batch_size=options.batch, sampler=sampler, drop_last=True)
    epoch = 0
    while True:
        sampler.set_epoch(epoch)
        yield from loader
        epoch += 1


def show(step, loss, sharers=0):
    """One line with the mean over all ranks, or over the `sharers` that know a loss."""
    mean = loss.detach().reshape(1).clone()
    dist.all_reduce(mean)
    print(f"step={step} loss={float(mean) / (sharers or dist.get_world_size()):.6f}", flush=True)


def leave():
    dist.barrier()
    dist.destroy_process_group()
    print("done", flush=True)
