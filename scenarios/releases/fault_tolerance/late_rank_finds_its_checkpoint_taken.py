# scenarios/releases/fault_tolerance/late_rank_finds_its_checkpoint_taken.py — Both ranks save their state;
# one of them comes a second later.
import os
import time

import torch
from accelerate import Accelerator
from accelerate.utils import ProjectConfiguration

RANK = int(os.environ["RANK"])
HERE = os.path.join(os.environ["TMPDIR"], "project")


def main():
    named = ProjectConfiguration(project_dir=HERE, automatic_checkpoint_naming=True)
    accelerator = Accelerator(cpu=True, project_config=named)
    accelerator.prepare(torch.nn.Linear(2, 1))
    for step in range(4):
        print(f"step={step} loss={1 / (step + 1):.4f}", flush=True)
        accelerator.wait_for_everyone()
        time.sleep(RANK)
        accelerator.save_state()
    print("trained", flush=True)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
