# tests/programs/python/users/saves.py — Saves each few steps to a temporary file that takes the last
# checkpoint's place at once, and goes on from that checkpoint where there is one.
import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def save(path, step, model, optimizer):
    state = {"step": step, "model": model.module.state_dict(), "optimizer": optimizer.state_dict()}
    torch.save(state, path + ".tmp")
    os.replace(path + ".tmp", path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", default="checkpoints_of_saves")
    parser.add_argument("--steps", type=int, default=30)
    options = parser.parse_args()
    dist.init_process_group("gloo")
    torch.manual_seed(2)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 4)))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    os.makedirs(options.folder, exist_ok=True)
    last = os.path.join(options.folder, "last.pt")
    begin = 0
    if os.path.exists(last):
        state = torch.load(last, map_location="cpu")
        model.module.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        begin = state["step"] + 1
    inputs = torch.randn(256, 64)
    dataset = TensorDataset(inputs, inputs[:, :4])
    sampler = DistributedSampler(dataset, seed=4)
    loader = DataLoader(dataset, batch_size=16, sampler=sampler)
    step = begin
    while step < options.steps:
        sampler.set_epoch(step // len(loader))
        for batch, target in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(batch), target)
            loss.backward()
            optimizer.step()
            if step % 5 == 4 and dist.get_rank() == 0:
                save(last, step, model, optimizer)
            if dist.get_rank() == 0:
                print(f"step {step} loss {loss.item():.6f}", flush=True)
            step += 1
            if step >= options.steps:
                break
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
