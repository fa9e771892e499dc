# sim/examples/train_gpu.py — A small transformer in DistributedDataParallel, as a program for GPUs: bfloat16, fused
# AdamW, NCCL. It knows nothing of deadrank:
#   torchrun --nnodes 2 --nproc-per-node 8 train_gpu.py
import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

STEPS, WORDS, WIDTH = 6, 256, 64


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, WIDTH)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(WIDTH, 4, 2 * WIDTH, dropout=0.0, batch_first=True) for _ in range(2)
        )
        self.head = nn.Linear(WIDTH, WORDS)

    def forward(self, tokens):
        values = self.embedding(tokens)
        for layer in self.layers:
            values = layer(values)
        return self.head(values)


def main():
    dist.init_process_group("nccl")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    torch.manual_seed(0)
    model = DistributedDataParallel(Model().to(device), device_ids=[device.index], bucket_cap_mb=0.2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    data = torch.Generator().manual_seed(dist.get_rank())
    for step in range(STEPS):
        tokens = torch.randint(0, WORDS, (4, 17), generator=data).to(device, non_blocking=True)
        with torch.autocast("cuda", torch.bfloat16):
            scores = model(tokens[:, :-1])
        loss = F.cross_entropy(scores.float().flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if dist.get_rank() == 0:
            print(f"step {step}: loss {loss.item():.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
