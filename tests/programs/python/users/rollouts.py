# tests/programs/python/users/rollouts.py — Reinforcement learning, data parallel: before each update the
# model plays without gradients, in training mode, for longer than the steps take. Then short trainings one
# after the other, with other work between them.
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset


def play(model, turns=12):
    seen = [torch.randn(16)]
    with torch.no_grad():
        for _ in range(turns):
            seen.append(torch.tanh(seen[-1] + model(seen[-1])))
            time.sleep(0.004)  # the world's turn
    return torch.stack(seen)


def step(model, optimizer, inputs):
    loss = (model(inputs) - 0.5 * inputs.mean(dim=1, keepdim=True)).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


def update(rounds):
    model = DistributedDataParallel(nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(rounds):
        seen = play(model.module)
        for inputs in seen.split(2):
            step(model, optimizer, inputs)


def train(trainings):
    dataset = TensorDataset(torch.randn(48, 16))
    for _ in range(trainings):
        model = DistributedDataParallel(nn.Linear(16, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for (inputs,) in DataLoader(dataset, batch_size=8):
            step(model, optimizer, inputs)
        time.sleep(0.1)  # the next training is prepared


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(dist.get_rank())
    update(rounds=6)
    train(trainings=6)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
