# tests/programs/python/users/fsdp2.py — A small transformer under fully_shard: each rank holds its part of
# every parameter, each reads its own shard of the data, and a sharded state dict is written at the end.
import tempfile

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


class Model(nn.Module):
    def __init__(self, width=64, layers=3, words=100):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(width, 4, width * 2, dropout=0.0, batch_first=True)
            for _ in range(layers)
        )
        self.head = nn.Linear(width, words)

    def forward(self, tokens):
        hidden = self.embed(tokens)
        for block in self.blocks:
            hidden = block(hidden)
        return self.head(hidden)


def main():
    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    torch.manual_seed(0)
    model = Model()
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    generator = torch.Generator().manual_seed(dist.get_rank())
    for step in range(20):
        tokens = torch.randint(0, 100, (4, 17), generator=generator)
        logits = model(tokens[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if dist.get_rank() == 0 and step % 5 == 0:
            print(f"{step=} loss={loss.item():.3f} norm={norm.full_tensor().item():.3f}", flush=True)
        elif step % 5 == 0:
            norm.full_tensor()
    with tempfile.TemporaryDirectory() as folder:
        torch.save(model.state_dict(), f"{folder}/part{dist.get_rank()}.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
