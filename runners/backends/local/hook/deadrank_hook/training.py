# runners/backends/local/hook/deadrank_hook/training.py — Steps, phases, losses and parameter digests, seen
# from outside the training loop. A step begins with the first batch or forward pass after an optimizer step;
# the updated parameters are digested at its end.
import atexit
import functools
import hashlib
import math
import threading
import time
import weakref

from . import later, memory, seams
from .waits import Others, Waits


FIRST = 16  # steps of a watched program of which everything is recorded; of some kinds less later


DIGESTS = 8  # that may be under way


TOLD = 1e-4  # seconds that a rank waited for a processor: less delays nobody
LONG = 5_000_000  # nanoseconds of a phase: two lines take less than a hundredth of it


class Inside(threading.local):
    forward = False  # this thread is in the forward pass of a model


class Training:
    def __init__(self, hook):
        self.hook = hook
        self.open = self.stepped = self.began = False
        self.taken = 0  # optimizer steps, those that a scaler left out included
        self.loss = self.norm = None  # not known yet
        self.digested = []  # (step, group, name, digest) that a device still computes
        self.waits = Waits()
        self.starved, self.others = 0.0, Others(self.waits)
        self.counted = False  # whether a wait was told: without any, a reader cannot know whether we count
        self.model = lambda: None
        self.current, self.shown, self.phase_began = "", False, 0
        self.mark = time.monotonic()  # end of the last communication: what follows is this rank's own work
        self.inside = Inside()
        self.memory = memory.Memory(hook)

    def new_work(self):
        """The rank begins a new batch. True if a step begins with it."""
        if self.open and self.stepped:
            self.end()
        begins = not self.open
        if begins:
            self.open, self.stepped, self.began = True, False, True
            self.hook.evidence.write("step.begin", step=self.hook.step)
            self.mark = time.monotonic()
            self.starved = self.waited_here()
            self.hook.injector.at("step")
        return begins

    def no_work(self):
        """The batch did not come: the step that began with it begins with the next one."""
        self.phase("")
        self.open = False

    def end(self):
        self.phase("")
        self.stretch()
        self.open = False
        if isinstance(self.loss, later.Copy):  # of a forward pass that lies behind the whole step
            self.loss = float(self.loss.wait())
        shown = {"loss": self.loss, "gradient_norm": self.norm}
        shown = {name: plain(value) for name, value in shown.items() if value is not None}
        waited = self.waited_here() - self.starved
        if waited >= TOLD or not self.counted:
            self.counted = True
            self.tell_wait("processor_wait", waited)
        self.tell_wait("transfer_wait", self.others.waited())
        self.hook.evidence.write("step.end", step=self.hook.step, **shown)
        self.digested += [(self.hook.step, *one) for one in self.digests()]
        self.tell_digests(most=DIGESTS)
        self.memory.step_ended()
        self.hook.shares.trained()
        self.hook.step += 1

    def stretch(self):
        """A slow rank is so in all of its own work: up to each call, and after a step's last one."""
        self.hook.injector.levers.stretch(time.monotonic() - self.mark)
        self.mark = time.monotonic()

    def tell_digests(self, most=0):
        """Those that are there; waits for the first ones only if more than `most` are not."""
        while self.digested:
            step, group, name, digest = self.digested[0]
            if len(self.digested) <= most and not digest.there():
                return
            del self.digested[0]
            self.hook.evidence.write(
                "parameters.digest", step=step, digest=digest.value(), group=group, name=name
            )

    def step_taken(self):
        self.stepped = True
        self.taken += 1

    def waited_here(self):
        """Seconds in which this thread was runnable but had no processor."""
        return (self.waits.of(threading.get_native_id()) or 0) / 1e9

    def tell_wait(self, name, seconds):
        if seconds is not None:
            self.hook.evidence.write(
                "value.sample", step=self.hook.step, name=name, value=seconds, expected="nan"
            )

    def digests(self):
        """Of the replicas that the manifest states; else of those that the program shows by itself."""
        stated = self.hook.plan.get("groups", {}).get(str(self.hook.slot))
        if stated is None:
            return self.hook.replicas.digests()
        model = self.model()
        return [] if model is None else [(stated, "parameters", Known(digest(model.parameters())))]

    def evaluates(self):
        model = self.model()
        return model is not None and not trains(model)

    def aside(self):
        """The rank does something other than training: the step that it has taken is over."""
        if self.open and self.stepped:
            self.end()

    def finish(self):
        self.mark = time.monotonic()  # what came after the last step is none of it
        self.aside()
        self.tell_digests()

    def loaded(self, state, named=None):
        """A loaded checkpoint sets our step count, so that steps keep their numbers after a restart: by the
        step that it holds, else by the one in its name."""
        if self.open:
            return
        inside = state if isinstance(state, dict) else {}
        said = [inside.get(name) for name in ("step", "iteration", "global_step")]
        step = next((value for value in said if isinstance(value, int)), named)
        if step is not None:
            self.hook.step = step + 1

    def tell_loss(self, loss):
        if loss.numel() != 1 or later.recording(loss):
            return
        self.loss = later.Copy(loss.detach()) if self.hook.watching and loss.is_cuda else float(loss.detach())

    def phase(self, name):
        if name == self.current:
            return
        if self.shown:
            self.hook.evidence.write("phase.end", step=self.hook.step, phase=self.current)
        elif self.current and time.time_ns() - self.phase_began >= LONG:
            self.hook.evidence.write("phase.begin", self.phase_began, step=self.hook.step, phase=self.current)
            self.hook.evidence.write("phase.end", step=self.hook.step, phase=self.current)
        self.current = self.hook.injector.phase = name
        self.shown = name and self.shows(name)
        if self.shown:
            self.hook.evidence.write("phase.begin", step=self.hook.step, phase=name)
        elif name:
            self.phase_began = time.time_ns()
        if name:
            self.hook.injector.at("phase")

    def shows(self, phase):
        """Eight lines a step are much of what watching costs. A long phase is told when it ends."""
        step = self.hook.step
        return not self.hook.watching or step < FIRST or step % FIRST == 0 or phase == "checkpoint"


class Known:
    """A digest that nobody has to wait for."""

    def __init__(self, number):
        self.number = number

    def there(self):
        return True

    def value(self):
        return self.number


def plain(number):
    return number if math.isfinite(number) else repr(number)  # JSON has no word for nan and inf


def digest(tensors):
    import torch

    state = hashlib.blake2b(digest_size=8)
    for tensor in tensors:
        tensor = tensor.detach()
        tensor = (tensor.to_local() if hasattr(tensor, "to_local") else tensor).cpu().contiguous()
        # A copy: the program could no longer free storage that numpy has seen.
        state.update(tensor.reshape(-1).view(torch.uint8).clone().numpy().tobytes())
    return int.from_bytes(state.digest(), "little")


def watch(hook):
    hook.training = Training(hook)
    hook.optimizers, hook.told = weakref.WeakSet(), weakref.WeakSet()
    watch_forward(hook.training)
    watch_backward(hook.training)
    watch_optimizers(hook)
    watch_scalers(hook.training)
    atexit.register(hook.training.finish)


def has_parameters(module):
    return next(module.parameters(), None) is not None


def trains(module):
    """A wrapper stays in training mode when the model in it is set to evaluate."""
    inner = module._modules.get("module")
    return module.training and (inner is None or inner.training)


def watch_forward(training):
    import torch
    from torch import nn

    real, inside = nn.Module.__call__, training.inside

    def called(self, *args, **settings):
        if inside.forward or not has_parameters(self):  # one comparison for each inner module
            return real(self, *args, **settings)  # a loss or an activation is not a model
        if not (trains(self) and torch.is_grad_enabled()):  # a rollout or a teacher leaves its mode as it is
            training.aside()
            return real(self, *args, **settings)
        inside.forward = True
        training.model = weakref.ref(self)
        training.new_work()
        training.phase("forward")
        try:
            return real(self, *args, **settings)
        finally:
            inside.forward = False
            training.phase("")

    nn.Module.__call__ = called


def watch_backward(training):
    import torch

    real = torch.Tensor.backward

    @functools.wraps(real)
    def backward(self, *args, **settings):
        training.tell_loss(self)
        training.phase("backward")
        try:
            return real(self, *args, **settings)
        finally:
            training.phase("")

    torch.Tensor.backward = backward


def watch_optimizers(hook):
    from torch.optim import Optimizer

    begin = Optimizer.__init__

    @functools.wraps(begin)
    def watched_begin(self, *args, **settings):
        begin(self, *args, **settings)
        hook.optimizers.add(self)
        seams.begun(hook, self)
        kind = type(self)
        if not getattr(kind.step, "deadrank", False):
            kind.step = watched_step(hook, kind.step)

    Optimizer.__init__ = watched_begin


def watch_scalers(training):
    """A step that overflowed counts too: the scaler's update ends it, without the optimizer."""
    import torch

    scaler = getattr(torch.amp, "GradScaler", None)  # torch 2.3 and later
    if scaler is None:
        return
    real = scaler.update

    @functools.wraps(real)
    def update(self, *args, **settings):
        real(self, *args, **settings)
        if not training.stepped:
            training.norm = 0.0  # there is no usable gradient
        training.step_taken()

    scaler.update = update


def watched_step(hook, real):
    @functools.wraps(real)
    def step(self, *args, **settings):
        training = hook.training
        training.phase("optimizer")
        tell_settings(hook, self)
        training.norm = gradient_norm(self)
        hook.injector.at("optimizer.step")
        hook.replicas.will_step(self)
        try:
            if "optimizer.step" in hook.injector.levers.skipped:
                return None
            return real(self, *args, **settings)
        finally:
            training.step_taken()
            training.phase("")

    step.deadrank = True
    return step


def tell_settings(hook, optimizer):
    """Records the optimizer's numbers, once: ranks that train one model have the same."""
    if not hook.watching or optimizer in hook.told:
        return
    hook.told.add(optimizer)
    first = optimizer.param_groups[0] if optimizer.param_groups else {}
    said = [f"{name}={value}" for name, value in sorted(first.items()) if is_setting(value)]
    name = f"optimizer {len(hook.told)}, {type(optimizer).__name__}"
    hook.evidence.write("rank.config", name=name, value=" ".join(said))


def is_setting(value):
    many = value if isinstance(value, (tuple, list)) else [value]
    return all(isinstance(one, (int, float)) for one in many) and len(many) <= 4


def gradient_norm(optimizer):
    total = 0.0
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            if parameter.grad is not None:
                gradient = parameter.grad.detach()
                gradient = gradient.to_local() if hasattr(gradient, "to_local") else gradient
                total += float(gradient.double().pow(2).sum())
    return math.sqrt(total) if total >= 0 else total
