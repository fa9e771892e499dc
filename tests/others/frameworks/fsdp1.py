# tests/others/frameworks/fsdp1.py — FullyShardedDataParallel as in torch's FSDP tutorials: an auto-wrap policy, mixed
# precision with --bf16, and a full state dict gathered on rank 0.
import argparse
import functools
import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.fsdp import FullStateDictConfig, MixedPrecision, StateDictType
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy


class Block(nn.TransformerEncoderLayer):
    pass


class Model(nn.Module):
    def __init__(self, words=64, width=32, layers=2):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.layers = nn.ModuleList(
            Block(width, 4, 64, dropout=0.0, batch_first=True) for _ in range(layers)
        )
        self.head = nn.Linear(width, words)

    def forward(self, tokens):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bf16", action="store_true")
    arguments = parser.parse_args()
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if cuda else "gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    policy = functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={Block})
    half = MixedPrecision(torch.bfloat16, torch.bfloat16, torch.bfloat16) if arguments.bf16 else None
    model = FSDP(Model(), auto_wrap_policy=policy, mixed_precision=half, device_id=device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    data = torch.Generator().manual_seed(rank)
    for step in range(10):
        tokens = torch.randint(0, 64, (4, 17), generator=data).to(device)
        optimizer.zero_grad()
        logits = model(tokens[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1).float(), tokens[:, 1:].flatten())
        loss.backward()
        model.clip_grad_norm_(1.0)
        optimizer.step()
        if step % 5 == 4:
            config = FullStateDictConfig(offload_to_cpu=cuda, rank0_only=True)
            with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT, config):
                state = model.state_dict()
            if rank == 0:
                torch.save(state, f"model-{step}.pt")
            dist.barrier()
    total = loss.detach()
    dist.all_reduce(total)
    if rank == 0:
        print(f"loss {total.item() / dist.get_world_size():.6f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
