# scenarios/releases/scheduling/rest_of_the_prompts_is_dealt_twice.py — Prompts for inference, shared among
# ranks. Their number is no multiple of the ranks'.
import os

import torch
from accelerate import PartialState

RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
PROMPTS = 4


def main():
    state = PartialState(cpu=True)
    with state.split_between_processes(list(range(PROMPTS))) as mine:
        for step, prompt in enumerate(mine):
            print(f"batch epoch=0 step={step} samples={prompt}")
            print(f"step={step} loss={1 / (step + 1):.4f}")
        print(f"rank {RANK} of {WORLD} has {mine}")
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
