# scenarios/releases/computation/similarities_of_ranks_are_no_list.py — A similarity for each picture, of the
# pictures that two ranks hold.
import os

import torch
import torch.distributed as dist
from torchmetrics.image import StructuralSimilarityIndexMeasure

RANK = int(os.environ["RANK"])


def main():
    dist.init_process_group("gloo")
    generator = torch.Generator().manual_seed(3)
    clean = torch.rand(3, 1, 16, 16, generator=generator)
    noisy = (clean + 0.1 * torch.rand(3, 1, 16, 16, generator=generator)).clamp(0, 1)
    metric = StructuralSimilarityIndexMeasure(data_range=1.0, reduction=None)
    metric.update(noisy, clean)
    print("step=0 loss=1.0000")
    print(f"step=1 loss={metric.compute().mean().item():.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
