# scenarios/releases/fault_tolerance/old_state_is_removed_by_every_rank.py — A job that keeps one checkpoint,
# with many files of its own in each.
import os
import pathlib

import torch
from accelerate import Accelerator
from accelerate.utils import ProjectConfiguration

HERE = os.path.join(os.environ["TMPDIR"], "project")
FILES = 4000


def main():
    keeps = ProjectConfiguration(project_dir=HERE, automatic_checkpoint_naming=True, total_limit=1)
    accelerator = Accelerator(cpu=True, project_config=keeps)
    model = accelerator.prepare(torch.nn.Linear(2, 1))
    for step in range(4):
        print(f"step={step} loss={1 / (step + 1 + 0 * len(list(model.parameters()))):.4f}", flush=True)
        if accelerator.is_main_process:
            for kept in pathlib.Path(HERE).glob("checkpoints/checkpoint_*"):
                for number in range(FILES):
                    (kept / f"log{number}").touch()
        accelerator.wait_for_everyone()
        accelerator.save_state()
        accelerator.wait_for_everyone()
    print("trained", flush=True)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
