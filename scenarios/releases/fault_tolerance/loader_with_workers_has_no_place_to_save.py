# scenarios/releases/fault_tolerance/loader_with_workers_has_no_place_to_save.py — A loader whose place in the
# epoch can be saved, with a process that reads ahead.
import os

import numpy
import torch
from accelerate import Accelerator
from accelerate.utils import DataLoaderConfiguration
from torch.utils.data import DataLoader


def main():
    keeps = DataLoaderConfiguration(use_stateful_dataloader=True)
    accelerator = Accelerator(cpu=True, dataloader_config=keeps)
    # Arrays come by a pipe; tensors would need a socket below TMPDIR, whose path may be too long for one.
    loader = DataLoader(list(range(24)), batch_size=2, num_workers=1, collate_fn=numpy.array)
    loader = accelerator.prepare(loader)
    for step, batch in enumerate(loader):
        print(f"step={step} loss={1 / (step + 1 + 0 * len(batch)):.4f}", flush=True)
        if step == 2:
            accelerator.save_state(os.path.join(os.environ["TMPDIR"], "state"))
            print("saved", flush=True)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
