# tests/others/frameworks/pipelining.py — torch.distributed.pipelining as in its documentation: one stage a rank,
# --schedule GPipe, 1F1B or Interleaved1F1B (two stages a rank), the loss on the last one.
import argparse
import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe, ScheduleInterleaved1F1B

WIDTH, WORDS, CHUNKS = 32, 64, 4


def part(index, count):
    torch.manual_seed(index)
    layers = [nn.TransformerEncoderLayer(WIDTH, 4, 64, dropout=0.0, batch_first=True)]
    if index == 0:
        layers.insert(0, nn.Embedding(WORDS, WIDTH))
    if index == count - 1:
        layers.append(nn.Linear(WIDTH, WORDS))
    return nn.Sequential(*layers)


def loss_of(logits, targets):
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--schedule", choices=["GPipe", "1F1B", "Interleaved1F1B"], default="1F1B")
    arguments = parser.parse_args()
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    places = [rank, rank + ranks] if arguments.schedule == "Interleaved1F1B" else [rank]
    count = ranks * len(places)
    parts = nn.ModuleList(part(place, count) for place in places).to(device)
    stages = [PipelineStage(one, place, count, device) for one, place in zip(parts, places)]
    if arguments.schedule == "Interleaved1F1B":
        schedule = ScheduleInterleaved1F1B(stages, CHUNKS, loss_fn=loss_of)
    else:
        kind = Schedule1F1B if arguments.schedule == "1F1B" else ScheduleGPipe
        schedule = kind(stages[0], CHUNKS, loss_fn=loss_of)
    optimizer = torch.optim.AdamW(parts.parameters(), lr=1e-3)
    data = torch.Generator().manual_seed(7)
    for step in range(10):
        tokens = torch.randint(0, WORDS, (8, 17), generator=data).to(device)
        optimizer.zero_grad()
        losses = []
        if rank == 0:
            schedule.step(tokens[:, :-1].contiguous())
        elif rank == ranks - 1:
            schedule.step(target=tokens[:, 1:].contiguous(), losses=losses)
        else:
            schedule.step()
        optimizer.step()
        if step % 5 == 4:
            torch.save(parts.state_dict(), f"stages-{step}-{rank}.pt")
    if rank == ranks - 1:
        print(f"loss {torch.stack(losses).mean().item():.6f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
