# tests/others/frameworks/dcp.py — Distributed Checkpoint as in torch's recipes: a Stateful that wraps model and
# optimizer, a save with --mode sync or async, and a load of the last checkpoint into a fresh model.
import argparse
import os

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.nn as nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.checkpoint.stateful import Stateful
from torch.distributed.fsdp import fully_shard


class AppState(Stateful):
    def __init__(self, model, optimizer=None):
        self.model, self.optimizer = model, optimizer

    def state_dict(self):
        model, optimizer = get_state_dict(self.model, self.optimizer)
        return {"model": model, "optim": optimizer}

    def load_state_dict(self, state_dict):
        set_state_dict(
            self.model, self.optimizer, model_state_dict=state_dict["model"], optim_state_dict=state_dict["optim"]
        )


class ToyModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.net1, self.relu, self.net2 = nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 8)

    def forward(self, x):
        return self.net2(self.relu(self.net1(x)))


def made(device):
    model = ToyModel().to(device)
    fully_shard(model)
    return model, torch.optim.Adam(model.parameters(), lr=0.1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", choices=["sync", "async"], default="sync")
    arguments = parser.parse_args()
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    dist.init_process_group("cpu:gloo,cuda:nccl" if cuda else "gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    group = dist.new_group(backend="gloo")  # of the saver's thread
    torch.manual_seed(0)
    model, optimizer = made(device)
    data = torch.Generator().manual_seed(rank)
    inputs = torch.rand(8, 16, generator=data).to(device)
    future, saved = None, None
    for step in range(9):
        loss = model(inputs).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 3 == 2:
            saved = f"checkpoint-{step}"
            state = {"app": AppState(model, optimizer)}
            if arguments.mode == "sync":
                dcp.save(state, checkpoint_id=saved)
            else:
                if future is not None:
                    future.result()
                future = dcp.async_save(state, checkpoint_id=saved, process_group=group)
    if future is not None:
        future.result()
    again, its_optimizer = made(device)
    dcp.load({"app": AppState(again, its_optimizer)}, checkpoint_id=saved)
    with torch.no_grad():
        total = again(inputs).square().mean()
    dist.all_reduce(total)
    if rank == 0:
        print(f"loss {total.item() / ranks:.6f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
