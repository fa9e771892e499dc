# runners/backends/local/subjects/startup.py — Makes a process group from the environment: as torch reads it,
# or as lenient launch scripts do, which fill in what is missing.
import datetime
import math
import os
import re

import torch
import torch.distributed as dist


def join(options):
    timeout = {"timeout": datetime.timedelta(seconds=options.timeout)} if options.timeout > 0 else {}
    if options.place_from_launcher:
        take_place_from_launcher()
    if not options.lenient_environment:
        return dist.init_process_group("gloo", **timeout)
    rank, size = lenient_number("RANK", 0), lenient_number("WORLD_SIZE", 1)
    print(f"config rank={rank} world_size={size}", flush=True)
    if size == 1:  # alone: no rendezvous
        timeout["store"] = dist.HashStore()
    return dist.init_process_group("gloo", rank=rank, world_size=size, **timeout)


def take_place_from_launcher():
    """torchrun tells each worker its place a second time, under names that no script overwrites."""
    told = os.environ
    if "ROLE_RANK" not in told:
        return
    first_of_node = int(told["GROUP_RANK"]) * int(told["LOCAL_WORLD_SIZE"])
    told["RANK"], told["WORLD_SIZE"] = told["ROLE_RANK"], told["ROLE_WORLD_SIZE"]
    told["LOCAL_RANK"] = str(int(told["ROLE_RANK"]) - first_of_node)


def lenient_number(name, otherwise):
    """`otherwise` if the variable is missing, 0 if it cannot be read."""
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
