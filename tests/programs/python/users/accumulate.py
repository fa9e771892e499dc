# tests/programs/python/users/accumulate.py — Data parallel with gradient accumulation: three of four
# micro-batches run under no_sync, the last one reduces. A classifier with a loss module, dropout, a schedule
# and a progress line on rank 0.
import contextlib
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

ACCUMULATE = 4


def data():
    torch.manual_seed(7)
    inputs = torch.randn(500, 32)
    return TensorDataset(inputs, (inputs.sum(1) > 0).long() + (inputs[:, 0] > 0).long())


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(1000 + rank)
    model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 3))
    model = DistributedDataParallel(model)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=40)
    dataset = data()
    sampler = DistributedSampler(dataset, shuffle=True)
    loader = DataLoader(dataset, batch_size=8, sampler=sampler)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for index, (inputs, labels) in enumerate(loader):
            last = (index + 1) % ACCUMULATE == 0 or index + 1 == len(loader)
            with contextlib.nullcontext() if last else model.no_sync():
                loss = criterion(model(inputs), labels) / ACCUMULATE
                loss.backward()
            if last:
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
        if rank == 0:
            print(f"epoch {epoch} loss {loss.item() * ACCUMULATE:.4f}", flush=True)
    if rank == 0 and os.environ.get("SAVE_TO"):
        torch.save(model.module.state_dict(), os.environ["SAVE_TO"])
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
