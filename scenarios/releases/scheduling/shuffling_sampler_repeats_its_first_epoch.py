# scenarios/releases/scheduling/shuffling_sampler_repeats_its_first_epoch.py — Epochs over samples that a
# sampler of the user's own deals among the ranks, in a new order each time.
import os

import torch
from lightning_fabric import Fabric
from torch.utils.data import DataLoader, Sampler

RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
SAMPLES, BATCH = 16, 2


class Shuffled(Sampler):
    epoch = 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __len__(self):
        return SAMPLES

    def __iter__(self):
        return iter(torch.randperm(SAMPLES, generator=torch.Generator().manual_seed(self.epoch)).tolist())


def main():
    fabric = Fabric(accelerator="cpu", devices=WORLD, strategy="ddp")
    fabric.launch()
    loader = fabric.setup_dataloaders(DataLoader(list(range(SAMPLES)), BATCH, sampler=Shuffled()))
    step, orders = 0, []
    for epoch in range(2):
        if hasattr(loader.sampler, "set_epoch"):
            loader.sampler.set_epoch(epoch)
        order = []
        for batch in loader:
            order += batch.tolist()
            print(f"batch epoch={epoch} step={step} samples={','.join(map(str, batch.tolist()))}")
            print(f"step={step} loss={1 / (step + 1):.4f}")
            step += 1
        orders.append(order)
    same = orders[0] == orders[1]
    print("both epochs had the same order" if same else "each epoch had an order of its own")


if __name__ == "__main__":
    main()
