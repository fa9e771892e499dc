# scenarios/releases/computation/pearson_of_three_ranks_is_wrong.py — A correlation over samples that three
# ranks hold, beside the same one over all of them at once.
import os

import torch
import torch.distributed as dist
import torchmetrics

RANK = int(os.environ["RANK"])
BOUNDS = (0, 10, 40, 60)


def main():
    dist.init_process_group("gloo")
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(60, generator=generator)
    y = 0.5 * x + torch.randn(60, generator=generator)
    metric = torchmetrics.PearsonCorrCoef()
    mine = slice(BOUNDS[RANK], BOUNDS[RANK + 1])
    metric.update(x[mine], y[mine])
    found = metric.compute().item()
    whole = torch.corrcoef(torch.stack([x, y]))[0, 1].item()
    print(f"value name=pearson step=0 is={found:.4f} should={whole:.4f}")
    agree = abs(found - whole) < 1e-3
    print("the ranks agree with one process" if agree else "the ranks differ from one process")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
