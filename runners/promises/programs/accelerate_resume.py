# runners/promises/programs/accelerate_resume.py — Accelerate on two processes under torchrun: save_state
# every second step, load_state and skip_first_batches after a restart, as its guide on checkpoints says.
import os
import shutil

import torch
from accelerate import Accelerator
from accelerate.utils import ProjectConfiguration

from counted_task import RUN, SAVE_EVERY, STEPS, Recorder
from torch_task import Task


class Samples(torch.utils.data.Dataset):
    def __init__(self, task):
        self.batches = [task.batch(step, 0, 1, batch=8) for step in range(STEPS)]

    def __len__(self):
        return 8 * STEPS

    def __getitem__(self, index):
        samples, x, y = self.batches[index // 8]
        return torch.tensor(samples[index % 8]), x[index % 8], y[index % 8]


def newest():
    """Of the directories whose save finished: the program then renames them."""
    steps = [int(place.name[4:]) for place in (RUN / "checkpoints").glob("step*") if place.name[4:].isdigit()]
    return max(steps, default=-1)


def main():
    unit = int(os.environ["RANK"])
    recorder = Recorder(unit)
    recorder.begin()
    accelerator = Accelerator(
        cpu=True, project_config=ProjectConfiguration(project_dir=str(RUN / "checkpoints")))
    recorder.phase("restore", 0)
    task = Task()
    torch.manual_seed(100 + unit)
    loader = torch.utils.data.DataLoader(Samples(task), batch_size=4, shuffle=False)
    model, optimizer, loader, schedule = accelerator.prepare(
        task.model, task.optimizer, loader, task.schedule)
    first = 0
    if newest() >= 0:
        first = newest() + 1
        accelerator.load_state(str(RUN / "checkpoints" / f"step{first - 1:04}"))
    recorder.write("resume", step=first)
    for step, (samples, x, y) in enumerate(accelerator.skip_first_batches(loader, first), start=first):
        recorder.phase("forward", step, task)
        optimizer.zero_grad()
        loss = task.loss(model(x), y)
        recorder.phase("collective", step, task)
        accelerator.backward(loss)
        recorder.phase("optimizer", step, task)
        optimizer.step()
        schedule.step()
        recorder.committed(step, loss, samples.tolist())
        if step % SAVE_EVERY == SAVE_EVERY - 1:
            recorder.phase("save", step, task)
            new = RUN / "checkpoints" / f"new{step:04}"
            accelerator.save_state(str(new))
            accelerator.wait_for_everyone()
            if accelerator.is_main_process:
                shutil.rmtree(RUN / "checkpoints" / f"step{step:04}", ignore_errors=True)
                os.rename(new, RUN / "checkpoints" / f"step{step:04}")
            accelerator.wait_for_everyone()
    recorder.final(STEPS - 1, **task.digests())
    accelerator.end_training()


if __name__ == "__main__":
    main()
