# tests/standin/gpu_late_peer.py — Two ranks of torchrun, of which one comes two seconds late. Rank 0 prints
# as JSON when each call returned, in seconds: what is only enqueued must not wait for the peer.
import json
import os
import time

import torch
import torch.distributed as dist

rank = int(os.environ["RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl")
mine = torch.full((4,), float(rank + 1), device="cuda")
gathered = [torch.zeros(4, device="cuda") for _ in range(2)]
host = torch.zeros(4).pin_memory()
dist.barrier()
torch.cuda.synchronize()
began = time.monotonic()
times = {}


def note(name):
    times[name] = round(time.monotonic() - began, 1)


if rank == 1:
    time.sleep(2)
dist.all_gather(gathered, mine)  # copies into the list, in the collective's stream
note("all_gather")
gathered[0].add_(gathered[1])
note("in place")
host.copy_(gathered[0], non_blocking=True)
note("copy to pinned memory")
early = host.tolist()
torch.cuda.synchronize()
note("synchronize")
if rank == 0:
    print(json.dumps({"times": times, "early": early, "late": host.tolist()}), flush=True)
dist.destroy_process_group()
