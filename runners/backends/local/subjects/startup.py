# runners/backends/local/subjects/startup.py — From a process's environment to a process group: as torch reads
# it, or as launch scripts do that help themselves where something is missing.
import datetime
import math
import os
import re

import torch
import torch.distributed as dist


def join(options):
    timeout = {"timeout": datetime.timedelta(seconds=options.timeout)} if options.timeout > 0 else {}
    if not options.lenient_environment:
        return dist.init_process_group("gloo", **timeout)
    rank, size = lenient_number("RANK", 0), lenient_number("WORLD_SIZE", 1)
    print(f"config rank={rank} world_size={size}", flush=True)
    if size == 1:  # alone: there is nobody to meet
        timeout["store"] = dist.HashStore()
    return dist.init_process_group("gloo", rank=rank, world_size=size, **timeout)


def lenient_number(name, otherwise):
    """What is not there is `otherwise`, what cannot be read is 0."""
    text = os.environ.get(name)
    if text is None:
        return otherwise
    return int(text) if re.fullmatch(r"[+-]?\d+", text) else 0


class SquareRootRate:
    """A learning rate that grows with the square root of the number of ranks."""

    def __init__(self, rate):
        self.rate, self.ranks = rate, float(dist.get_world_size())
        self.should = rate * math.sqrt(self.ranks)

    def to_tensor(self):
        self.ranks = torch.as_tensor(self.ranks)

    def apply(self, optimizer):
        self.to_tensor()
        for group in optimizer.param_groups:
            group["lr"] = self.rate * float(torch.sqrt(self.ranks))
