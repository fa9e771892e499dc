# scenarios/releases/communication/batch_of_a_named_tuple_cannot_be_gathered.py — A batch is a tuple with
# names for its parts, and all ranks gather it.
from collections import namedtuple

import torch
from accelerate import Accelerator

Batch = namedtuple("Batch", ["inputs", "labels"])


class Named(Batch):
    __slots__ = ()


def main():
    accelerator = Accelerator(cpu=True)
    print("step=0 loss=1.0000")
    batch = accelerator.gather(Named(torch.ones(2), torch.zeros(2)))
    print(f"step=1 loss={batch.inputs.sum().item():.4f}")
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
