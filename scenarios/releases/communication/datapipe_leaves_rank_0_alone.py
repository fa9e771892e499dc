# scenarios/releases/communication/datapipe_leaves_rank_0_alone.py — Rank 0 reads a pipe of samples and
# hands each rank its part of every batch.
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader
from torch.utils.data.datapipes.iter import IterableWrapper


def main():
    accelerator = Accelerator(cpu=True, dispatch_batches=True)
    pipe = IterableWrapper([torch.tensor([float(number)]) for number in range(16)])
    loader = accelerator.prepare(DataLoader(pipe, batch_size=4))
    print("the first batch is asked for", flush=True)
    for step, batch in enumerate(loader):
        print(f"step={step} loss={batch.mean().item() + 1:.4f}", flush=True)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
