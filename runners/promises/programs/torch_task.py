# runners/promises/programs/torch_task.py — The counted training in PyTorch: a small network with dropout,
# AdamW and a learning-rate schedule, so that the states of generator, optimizer and schedule all matter.
import os

import torch

from counted_task import BATCH, FEATURES, RUN, SAVE_EVERY, STEPS, digest, numbers_of, samples_of


class Task:
    def __init__(self, seed=7):
        torch.manual_seed(seed)
        torch.set_num_threads(1)
        self.model = torch.nn.Sequential(
            torch.nn.Linear(FEATURES, 32), torch.nn.Tanh(), torch.nn.Dropout(0.1), torch.nn.Linear(32, 2))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=0.01)
        self.schedule = torch.optim.lr_scheduler.StepLR(self.optimizer, step_size=5, gamma=0.7)
        self.loss = torch.nn.MSELoss()

    def batch(self, step, share, shares, batch=BATCH):
        samples = samples_of(step, share, shares, batch)
        pairs = [numbers_of(sample) for sample in samples]
        return samples, torch.tensor([x for x, _ in pairs]), torch.tensor([y for _, y in pairs])

    def average_gradients(self, world, group=None):
        """By hand, in one call, as a program without DDP does."""
        flat = torch.cat([p.grad.reshape(-1) for p in self.model.parameters()])
        torch.distributed.all_reduce(flat, group=group)
        flat /= world
        at = 0
        for p in self.model.parameters():
            p.grad.copy_(flat[at:at + p.numel()].view_as(p))
            at += p.numel()

    def state(self):
        return {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(),
                "schedule": self.schedule.state_dict(), "random": torch.get_rng_state()}

    def restore(self, state, random=True):
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.schedule.load_state_dict(state["schedule"])
        if random:
            torch.set_rng_state(state["random"])

    def corrupt(self):
        """Flips one high exponent bit of one parameter, as bad memory does."""
        weight = next(self.model.parameters()).detach().view(-1)
        weight[:1].view(torch.int32).bitwise_xor_(1 << 28)

    def digests(self):
        moments = {f"{i}.{name}": value for i, state in self.optimizer.state_dict()["state"].items()
                   for name, value in state.items()}
        return {"parameters": digest(self.model.state_dict()), "optimizer": digest(moments),
                "random": digest({"random": torch.get_rng_state()})}


class Checkpoints:
    """Our own files, one per worker, whole or absent: for frameworks that leave saving to the user."""

    def __init__(self, unit):
        self.path = RUN / "checkpoints"
        self.unit = unit

    def save(self, step, task):
        name = self.path / f"step{step:04}-{self.unit}.pt"
        torch.save({"step": step, "task": task.state()}, f"{name}.new")
        with open(f"{name}.new", "rb+") as file:
            os.fsync(file.fileno())
        os.replace(f"{name}.new", name)

    def steps(self, units):
        """The steps whose checkpoint every worker has."""
        found = {}
        for file in self.path.glob("step*-*.pt"):
            step, unit = file.stem[4:].split("-")
            found.setdefault(int(step), set()).add(int(unit))
        return sorted(step for step, who in found.items() if len(who) == units)

    def load(self, step):
        return torch.load(self.path / f"step{step:04}-{self.unit}.pt", weights_only=False)

    def resume(self, task, units):
        """Restores the newest step that is complete for every worker; returns the first step to train."""
        steps = self.steps(units)
        newest = torch.tensor(steps[-1] if steps else -1)
        torch.distributed.all_reduce(newest, op=torch.distributed.ReduceOp.MIN)
        if newest < 0:
            return 0
        saved = self.load(int(newest))
        task.restore(saved["task"])
        return saved["step"] + 1


def train_on(task, recorder, first, world, save):
    """Trains from step `first` on, averaging gradients by hand; calls `save(step, loss)` when one is due."""
    for step in range(first, STEPS):
        recorder.phase("forward", step, task)
        samples, x, y = task.batch(step, recorder.unit, world)
        task.optimizer.zero_grad()
        loss = task.loss(task.model(x), y)
        loss.backward()
        recorder.phase("collective", step, task)
        task.average_gradients(world)
        recorder.phase("optimizer", step, task)
        task.optimizer.step()
        task.schedule.step()
        recorder.committed(step, loss, samples)
        if step % SAVE_EVERY == SAVE_EVERY - 1:
            recorder.phase("save", step, task)
            save(step, loss)
    recorder.final(STEPS - 1, **task.digests())
