# tests/suites/mutated_project/trainer.py — A program under test, with one call for each mutation of `deadrank test
# --mutate`.
import os
import time

import torch
import torch.distributed as dist
from torch.distributed.tensor import DTensor, Partial, Replicate, init_device_mesh
from torch.utils.data import TensorDataset
from torch.utils.data.distributed import DistributedSampler


def average(value):
    dist.all_reduce(value, op=dist.ReduceOp.AVG)
    return value


def total(value):
    dist.all_reduce(value)
    return value


def running_total(values):
    sums = []
    for value in values:
        dist.all_reduce(value)
        sums.append(value)
    return sums


def share(value):
    dist.broadcast(value, 0)
    return value


def gathered(value):
    parts = [torch.empty_like(value) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, value)
    return torch.cat(parts)


def samples(epoch):
    sampler = DistributedSampler(TensorDataset(torch.arange(16)), seed=3)
    sampler.set_epoch(epoch)
    return list(sampler)


def whole(part):
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    return DTensor.from_local(part, mesh, [Partial()]).redistribute(placements=[Replicate()]).to_local()


def noise():
    torch.manual_seed(100 + dist.get_rank())
    return torch.rand(2)


def initial_weights():
    torch.manual_seed(5)
    return torch.rand(2)


def make():
    torch.manual_seed(7)
    model = torch.nn.Linear(2, 1)
    return model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def train(model, optimizer, steps, clip=0.5):
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = scaler.scale(model(torch.ones(1, 2)).square().sum())
        loss.backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        scaler.step(optimizer)
        scaler.update()


def save(model, optimizer, directory):
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "rank": dist.get_rank()}
    torch.save(state, os.path.join(directory, f"rank{dist.get_rank()}.pt"))
    dist.barrier()


def load(model, optimizer, directory):
    state = torch.load(os.path.join(directory, f"rank{dist.get_rank()}.pt"))
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return state["rank"]


def zeros():
    value = torch.zeros(3)
    dist.all_reduce(value)
    return value


def wait_for_all():
    """Ends when every rank has said that it is done."""
    done = torch.ones(1)
    dist.all_reduce(done)
    while done.item() < dist.get_world_size():
        time.sleep(1)


def never_tested(value):
    dist.all_reduce(value)
    return value
