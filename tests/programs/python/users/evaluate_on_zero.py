# tests/programs/python/users/evaluate_on_zero.py — After each epoch rank 0 alone evaluates on the whole
# validation set and writes the best model, while the others wait at a barrier.
import os
import tempfile
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    total = sum(nn.functional.mse_loss(model(x), y, reduction="sum").item() for x, y in loader)
    time.sleep(0.3)  # plots, a metrics server
    model.train()
    return total / len(loader.dataset)


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(1)
    x = torch.randn(403, 12)
    y = x @ torch.randn(12, 1)
    train, test = TensorDataset(x[:303], y[:303]), TensorDataset(x[303:], y[303:])
    sampler = DistributedSampler(train)
    loader, held = DataLoader(train, 16, sampler=sampler), DataLoader(test, 10)
    net = nn.Sequential(nn.Linear(12, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Linear(48, 1))
    model = DistributedDataParallel(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    folder = tempfile.mkdtemp() if rank == 0 else ""
    best = float("inf")
    for epoch in range(4):
        sampler.set_epoch(epoch)
        for inputs, targets in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(inputs), targets).backward()
            optimizer.step()
        if rank == 0:
            loss = evaluate(model.module, held)
            if loss < best:
                best = loss
                torch.save(model.module.state_dict(), os.path.join(folder, "best.pt"))
            print(f"epoch {epoch}: validation {loss:.4f}", flush=True)
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
