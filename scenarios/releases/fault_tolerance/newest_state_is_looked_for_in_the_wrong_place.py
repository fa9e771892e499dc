# scenarios/releases/fault_tolerance/newest_state_is_looked_for_in_the_wrong_place.py — A job with a project
# directory saves its state there, and asks for the newest one after a restart.
import os

os.environ["TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"] = "1"  # as torch was when these releases came out

import torch
from accelerate import Accelerator
from accelerate.utils import ProjectConfiguration


def accelerated(model):
    project = ProjectConfiguration(project_dir="project", automatic_checkpoint_naming=True)
    accelerator = Accelerator(cpu=True, project_config=project)
    return accelerator, accelerator.prepare(model)


def main():
    os.chdir(os.environ["TMPDIR"])
    model = torch.nn.Linear(2, 1)
    accelerator, model = accelerated(model)
    for step in range(4):
        print(f"step={step} loss={1 / (step + 1):.4f}", flush=True)
    accelerator.wait_for_everyone()
    accelerator.save_state()
    accelerator.wait_for_everyone()
    print("saved", flush=True)
    accelerator.load_state()
    print("goes on from the newest state", flush=True)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
