# scenarios/releases/memory/loaders_are_never_let_go.py — A validation of a few batches every step: its loader
# is made anew, and left early.
import gc

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset

ROUNDS, MEGABYTES = 8, 32


def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096 // 2**20


def validate(accelerator):
    samples = torch.ones(64, MEGABYTES * 2**20 // 4 // 64)
    for _ in accelerator.prepare(DataLoader(TensorDataset(samples), batch_size=4)):
        break


def main():
    accelerator = Accelerator(cpu=True)
    validate(accelerator)
    before = resident()
    for step in range(ROUNDS):
        validate(accelerator)
        accelerator.free_memory()
        gc.collect()
        print(f"step={step} loss={1 / (step + 1):.4f}")
        kept = max(0, resident() - before) // MEGABYTES
        print(f"value name=data.sets.kept step={step} is={kept} should=0")
    print(f"host memory grew by {kept} of {ROUNDS} data sets")
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
