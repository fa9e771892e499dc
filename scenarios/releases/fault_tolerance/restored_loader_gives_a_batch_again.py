# scenarios/releases/fault_tolerance/restored_loader_gives_a_batch_again.py — A job saves its state after the
# third batch, and goes on from there after a restart.
import os

import torch
from accelerate import Accelerator
from accelerate.utils import DataLoaderConfiguration
from torch.utils.data import DataLoader

HERE = os.path.join(os.environ["TMPDIR"], "state")
SAVED_AFTER = 3


def epoch_of(loader, step):
    for batch in loader:
        print(f"batch epoch=0 step={step} samples={','.join(map(str, batch.tolist()))}")
        print(f"step={step} loss={1 / (step + 1):.4f}")
        yield step, batch.tolist()
        step += 1


def main():
    keeps = DataLoaderConfiguration(use_stateful_dataloader=True)
    accelerator = Accelerator(cpu=True, dataloader_config=keeps)
    loader = accelerator.prepare(DataLoader(list(range(32)), batch_size=2))
    given = []
    for step, samples in epoch_of(loader, 0):
        given += samples
        if step + 1 == SAVED_AFTER:
            accelerator.save_state(HERE)
            break

    accelerator.load_state(HERE)
    rest = []
    for _, samples in epoch_of(loader, SAVED_AFTER):
        rest += samples
    print(f"samples that come again after the restart: {len(set(given) & set(rest))}")
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
