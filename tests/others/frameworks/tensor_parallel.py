# tests/others/frameworks/tensor_parallel.py — DTensor's tensor parallelism as in torch's examples. --sequence shards the
# sequence between the layers, --data N adds fully_shard over N groups of tensor parallel ranks.
import argparse
import os

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)


class FeedForward(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.w1 = nn.Linear(width, 4 * width, bias=False)
        self.w2 = nn.Linear(4 * width, width, bias=False)
        self.w3 = nn.Linear(width, 4 * width, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.feed_forward = nn.LayerNorm(width), FeedForward(width)

    def forward(self, x):
        return x + self.feed_forward(self.norm(x))


class Model(nn.Module):
    def __init__(self, words=64, width=32, layers=2):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.layers = nn.ModuleList(Block(width) for _ in range(layers))
        self.norm, self.output = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, tokens):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.output(self.norm(x))


def parallelize(model, mesh, sequence):
    block = {
        "feed_forward.w1": ColwiseParallel(),
        "feed_forward.w2": RowwiseParallel(),
        "feed_forward.w3": ColwiseParallel(),
    }
    outer = {"embedding": RowwiseParallel(input_layouts=Replicate()), "output": ColwiseParallel(output_layouts=Replicate())}
    if sequence:
        block |= {
            "norm": SequenceParallel(),
            "feed_forward": PrepareModuleInput(input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),)),
            "feed_forward.w2": RowwiseParallel(output_layouts=Shard(1)),
        }
        outer = {
            "embedding": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
            "norm": SequenceParallel(),
            "output": ColwiseParallel(input_layouts=Shard(1), output_layouts=Replicate()),
        }
    parallelize_module(model, mesh, outer)
    for layer in model.layers:
        parallelize_module(layer, mesh, block)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sequence", action="store_true")
    parser.add_argument("--data", type=int, default=1)
    arguments = parser.parse_args()
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    ranks = int(os.environ["WORLD_SIZE"])
    mesh = init_device_mesh(device.type, (arguments.data, ranks // arguments.data), mesh_dim_names=("dp", "tp"))
    torch.manual_seed(0)
    model = Model().to(device)
    parallelize(model, mesh["tp"], arguments.sequence)
    if arguments.data > 1:
        for layer in model.layers:
            fully_shard(layer, mesh=mesh["dp"])
        fully_shard(model, mesh=mesh["dp"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)
    data = torch.Generator().manual_seed(mesh["dp"].get_local_rank())
    for step in range(10):
        tokens = torch.randint(0, 64, (4, 17), generator=data).to(device)
        loss = F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 5 == 4:
            dcp.save({"model": model.state_dict()}, checkpoint_id=f"step-{step}")
    total = loss.detach()
    dist.all_reduce(total)
    if dist.get_rank() == 0:
        print(f"loss {total.item() / ranks:.6f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
