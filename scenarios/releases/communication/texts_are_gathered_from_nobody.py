# scenarios/releases/communication/texts_are_gathered_from_nobody.py — Each rank has generated a text, and all
# of them are gathered for the evaluation.
import os

import torch
from accelerate import PartialState
from accelerate.utils import gather_object

RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


def main():
    PartialState(cpu=True)
    print("step=0 loss=1.0000")
    texts = gather_object([f"text of rank {RANK}"])
    print(f"gathered {texts}")
    print(f"value name=texts step=0 is={len(texts)} should={WORLD}")
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
