# scenarios/releases/initialization/lock_waits_for_its_own_rank.py — Rank 0 prepares the data below a lock.
# Two helpers of the job take that lock, each for itself, and one calls the other.
import os
from datetime import timedelta

import torch.distributed as dist
from filelock import FileLock

RANK = int(os.environ["RANK"])
LOCK = os.path.join(os.environ["TMPDIR"], "data.lock")


def tokenized():
    try:
        with FileLock(LOCK):
            return "tokenized"
    except RuntimeError as refused:
        print(f"the lock is not waited for: {str(refused)[:60]}", flush=True)
        return "tokenized"


def prepared():
    with FileLock(LOCK):
        return tokenized()


def main():
    dist.init_process_group("gloo", timeout=timedelta(minutes=10))
    print("step=0 loss=1.0000", flush=True)
    if RANK == 0:
        prepared()
    dist.barrier()
    print("step=1 loss=0.5000", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
