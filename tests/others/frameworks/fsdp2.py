# tests/others/frameworks/fsdp2.py — fully_shard as in torch's FSDP2 tutorial: meta device, explicit prefetching, and a
# distributed checkpoint. --replicate N makes it hybrid (HSDP): N replicas, sharded within each.
import argparse
import os

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.checkpoint.state_dict import get_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (4, -1)).transpose(1, 2) for part in self.qkv(self.norm1(x)).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Transformer(nn.Module):
    def __init__(self, words=64, width=32, layers=3):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.layers = nn.ModuleList(Block(width) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, tokens):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))

    def reset(self):
        for module in self.modules():
            if hasattr(module, "reset_parameters"):
                module.reset_parameters()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--replicate", type=int, default=1)
    parser.add_argument("--bf16", action="store_true")
    arguments = parser.parse_args()
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    shape, names = (ranks,), ("shard",)
    if arguments.replicate > 1:
        shape, names = (arguments.replicate, ranks // arguments.replicate), ("replicate", "shard")
    mesh = init_device_mesh(device.type, shape, mesh_dim_names=names)
    said = {"mesh": mesh}
    if arguments.bf16:
        said["mp_policy"] = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    with torch.device("meta"):
        model = Transformer()
    for layer in model.layers:
        fully_shard(layer, **said)
    fully_shard(model, **said)
    for layer, following in zip(model.layers[:-1], model.layers[1:]):
        layer.set_modules_to_forward_prefetch([following])
    model.to_empty(device=device)
    torch.manual_seed(0)
    model.reset()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    data = torch.Generator().manual_seed(rank)
    for step in range(10):
        tokens = torch.randint(0, 64, (4, 17), generator=data).to(device)
        loss = F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1).float(), tokens[:, 1:].flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        optimizer.zero_grad()
        if step % 5 == 4:
            state, of_optimizer = get_state_dict(model, optimizer)
            dcp.save({"model": state, "optimizer": of_optimizer}, checkpoint_id=f"step-{step}")
    total = loss.detach()
    dist.all_reduce(total)
    if rank == 0:
        print(f"loss {total.item() / ranks:.6f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
