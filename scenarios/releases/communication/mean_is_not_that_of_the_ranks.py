# scenarios/releases/communication/mean_is_not_that_of_the_ranks.py — The ranks report the mean of their
# losses, a loss for each of two outputs.
import os

import torch
from accelerate import Accelerator

RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


def main():
    accelerator = Accelerator(cpu=True)
    for step in range(3):
        mine = torch.tensor([1.0 + RANK, 3.0 + RANK])
        mean = torch.as_tensor(accelerator.reduce(mine, reduction="mean")).reshape(-1)[0].item()
        should = 1 + (WORLD - 1) / 2
        print(f"step={step} loss={mean:.4f}")
        print(f"value name=mean.loss step={step} is={mean:.4f} should={should:.4f}")
    print("the mean is that of the ranks" if mean == should else "the mean is another than that of the ranks")
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
