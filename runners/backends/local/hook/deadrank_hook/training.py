# runners/backends/local/hook/deadrank_hook/training.py — Steps, phases, losses and parameter digests, seen
# from outside the training loop. A step begins with the first batch or forward pass after an optimizer step, in a
# program without a module with its first backward pass; the updated parameters are digested at its end.
import atexit
import functools
import hashlib
import math
import sys
import threading
import time
import weakref

from . import later, memory, randomness, scalers, seams, waits
from .later import graphs
from .lines import Lines

FIRST = 16  # steps of a watched program of which everything is recorded; of some kinds less later
DIGESTS = 8  # that may be under way
WAIT_MIN = 100_000  # ns: a shorter wait for a processor is not recorded
MODULES = 1024  # that are remembered
LONG = 5_000_000  # nanoseconds of a phase: two lines take less than a hundredth of it


class Inside(threading.local):
    forward = False  # this thread is in the forward pass of a model


class Training:
    def __init__(self, hook):
        self.hook = hook
        self.open = self.stepped = self.began = False
        self.has_module = False  # one made a forward pass
        self.stated = False  # the program says where its steps begin
        self.taken = 0  # optimizer steps, those that a scaler left out included
        self.loss = self.norm = None  # not known yet
        self.scaled = lambda: None, None  # what a gradient scaler made of the loss, and the loss
        self.digested = []  # (step, group, name, digest) that a device still computes
        self.lines = Lines(hook.evidence)
        self.waits, self.starved = waits.Waits(hook.threads.numbers), 0
        self.workers, self.held_up = waits.Workers(), 0  # nanoseconds of this step: a loader's worker was starved
        self.counted = False  # whether a wait was told: without any, a reader cannot know whether we count
        self.known = {}  # module's id → a reference to it: those with parameters
        self.model = self.last = lambda: None  # the last that made a forward pass; the last optimizer
        self.current, self.shown, self.phase_began = "", False, 0
        self.mark = time.monotonic()  # end of the last communication: what follows is this rank's own work
        self.inside = Inside()
        self.memory = memory.Memory(hook)
        self.random_states = randomness.may_be_restarted()

    def new_work(self):
        """The rank begins a new batch. True if a step begins with it."""
        return self.begin()

    def begin(self):
        if self.stated:
            return False
        ended = self.open and self.stepped
        if ended:
            self.end()
        begins = not self.open
        if begins:
            self.open_step(ended)
        return begins

    def begin_stated(self, number):
        """The program says that a step begins, and which one if it counts them. One that a batch has opened just
        before is that step."""
        only_batch = self.open and not self.stepped and self.loss is None and self.current in ("", "data")
        opened_by_batch = only_batch and not self.stated and number in (None, self.hook.step)
        self.stated = True
        if opened_by_batch:
            return
        ended = self.open
        if ended:
            self.end()
        if number is not None:
            self.hook.step = number
        self.open_step(ended)

    def open_step(self, follows):
        self.open, self.stepped, self.began = True, False, True
        self.hook.evidence.put(self.lines.begin % (time.time_ns(), self.hook.step))
        self.mark = time.monotonic()
        if not follows:
            self.starved = self.waits.here()
        self.held_up = 0
        if self.random_states and not graphs.recording:
            self.record_value("random_state", randomness.digest())
        if self.hook.injector.armed:
            self.hook.injector.at("step")

    def batch_came(self, loader, lasted):
        """`lasted`: nanoseconds in which this rank waited for it. A worker that had no processor while it
        prepared the batch, before that too, explains that much of them."""
        processes = [worker.pid for worker in getattr(loader, "_workers", ())]
        if processes:
            self.held_up += min(self.workers.longest(processes), lasted)

    def no_work(self):
        """The batch did not come: the step that began with it begins with the next one."""
        self.change("")
        self.open = self.open and self.stated

    def end(self):
        self.change("")
        self.stretch()
        self.open = False
        if isinstance(self.loss, later.Copy):  # of a forward pass that lies behind the whole step
            self.loss = float(self.loss.wait())
        longest = self.waits.longest()
        waited = self.waits.here(longest is not None)
        delayed, self.starved = waited - self.starved + self.held_up, waited
        if delayed >= WAIT_MIN or not self.counted:
            self.counted = True
            self.record_value("processor_wait", delayed / 1e9)
        if longest is not None:
            self.record_value("transfer_wait", longest / 1e9)
        self.record_step_end()
        self.digested += [(self.hook.step, *one) for one in self.digests()]
        if self.digested:
            self.record_digests(most=DIGESTS)
        self.memory.step_ended()
        self.hook.shares.trained()
        self.hook.step += 1

    def record_step_end(self):
        loss, norm, step = self.loss, self.norm, self.hook.step
        if norm is None and loss is not None and math.isfinite(loss):
            self.hook.evidence.put(self.lines.end % (time.time_ns(), step, loss))
            return
        shown = {"loss": loss, "gradient_norm": norm}
        shown = {name: plain(value) for name, value in shown.items() if value is not None}
        self.hook.evidence.write("step.end", step=step, **shown)

    def stretch(self):
        """A slow rank is so in all of its own work: up to each call, and after a step's last one."""
        self.hook.injector.levers.stretch(time.monotonic() - self.mark)
        self.mark = time.monotonic()

    def record_digests(self, most=0):
        """Those that are there; waits for the first ones only if more than `most` are not."""
        while self.digested:
            step, group, name, digest = self.digested[0]
            if len(self.digested) <= most and not digest.there():
                return
            del self.digested[0]
            self.hook.evidence.write(
                "parameters.digest", step=step, digest=digest.value(), group=group, name=name
            )

    def next_step(self):
        """The number of the step that follows what the program could save now."""
        return self.hook.step + (1 if self.open and self.stepped else 0)

    def step_taken(self):
        self.stepped = True
        self.taken += 1

    def record_value(self, name, value):
        self.lines.value(name, value, self.hook.step)

    def digests(self):
        """Of the replicas that the manifest states; else of those that the program shows by itself."""
        groups = self.hook.plan.get("groups")
        stated = groups.get(str(self.hook.slot)) if groups else None
        if stated is None:
            return self.hook.replicas.digests()
        model = self.model()
        return [] if model is None else [(stated, "parameters", Known(digest(model.parameters())))]

    def evaluated(self):
        self.hook.shares.evaluated()

    def evaluates(self):
        model = self.model()
        return model is not None and not trains(model)

    def aside(self):
        """The rank does something other than training: the step that it has taken is over."""
        if self.open and self.stepped and not self.stated:
            self.end()

    def finish(self):
        self.mark = time.monotonic()  # what came after the last step is none of it
        if self.open and (self.stepped or self.stated):
            self.end()
        self.record_digests()

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

    def record_loss(self, loss):
        if loss.numel() != 1:
            return
        of, unscaled = self.scaled
        if of() is loss:
            loss = unscaled
        if not loss.is_cuda:
            self.loss = loss.item()
        else:
            self.loss = later.Copy(loss.detach()) if self.hook.watching else loss.item()

    def forward(self, model, inputs):
        """A model begins a forward pass of training. `inputs`: its arguments."""
        self.inside.forward = self.has_module = True
        if self.model() is not model:
            self.model = weakref.ref(model)
        self.begin()
        self.hook.shares.forward(inputs)
        self.change("forward")

    def backward(self, loss):
        if not self.has_module:
            self.begin()
        self.record_loss(loss)
        self.change("backward")

    def optimizer(self, optimizer):
        """An optimizer is about to step."""
        self.change("optimizer")
        self.norm = None if self.hook.watching else gradient_norm(optimizer)  # which reads every gradient
        if self.hook.injector.armed:
            self.hook.injector.at("optimizer.step")
        self.hook.replicas.will_step(optimizer)
        if self.hook.watching and optimizer is not self.last():
            self.last = weakref.ref(optimizer)
            if optimizer not in self.hook.told:
                record_settings(self.hook, optimizer)

    def optimized(self):
        self.step_taken()
        self.change("")

    def phase(self, name):
        self.change(name)

    def change(self, name):
        if name == self.current:
            return
        if self.current:
            self.phase_ends()
        self.current = self.hook.injector.phase = name
        self.shown = False
        if not name:
            return
        self.phase_began = time.time_ns()
        if self.shows(name):
            self.shown = True
            self.lines.phase("phase.begin", name, self.phase_began, self.hook.step)
        if self.hook.injector.armed:
            self.hook.injector.at("phase")

    def phase_ends(self):
        now, name, step = time.time_ns(), self.current, self.hook.step
        if self.shown:
            self.lines.phase("phase.end", name, now, step)
        elif now - self.phase_began >= LONG:
            self.lines.whole_phase(name, self.phase_began, now, step)

    def shows(self, phase):
        """Eight lines a step are much of what watching costs. A long phase is told when it ends."""
        step = self.hook.step
        return not self.hook.watching or step < FIRST or step % FIRST == 0 or phase == "checkpoint"

    def has_parameters(self, module):
        """Walking through a model takes long: those that have some are remembered."""
        known = self.known.get(id(module))
        if known is not None and known() is module:
            return True
        if next(module.parameters(), None) is None:  # it may be given some later
            return False
        if len(self.known) >= MODULES:
            self.known.clear()
        self.known[id(module)] = weakref.ref(module)
        return True


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
    scalers.watch(hook.training)
    atexit.register(hook.training.finish)


def trains(module):
    """A wrapper stays in training mode when the model in it is set to evaluate."""
    inner = module._modules.get("module")
    return module.training and (inner is None or inner.training)


def watch_forward(training):
    import torch
    from torch import nn

    real, inside = nn.Module.__call__, training.inside
    known = real is getattr(nn.Module, "_wrapped_call_impl", None)
    known = known and hasattr(nn.Module, "_compiled_call_impl")
    traced = torch.compiler.is_dynamo_compiling  # which reads `inside.forward` of the class, not of the thread

    def called(self, *args, **settings):
        # An inner module: does what torch's own function would do with one more call.
        if inside.forward or traced() or graphs.recording:
            if known:
                return (self._compiled_call_impl or self._call_impl)(*args, **settings)
            return real(self, *args, **settings)
        if not (self._parameters or self._modules) or not training.has_parameters(self):
            return real(self, *args, **settings)  # a loss or an activation is no model
        if not (trains(self) and torch.is_grad_enabled()):  # a rollout or a teacher leaves its mode as it is
            training.aside()
            if self is training.model() and not trains(self):
                training.evaluated()
            return real(self, *args, **settings)
        training.forward(self, (args, settings))
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
        if graphs.recording:
            return real(self, *args, **settings)
        training.backward(self)
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
        hook.replicas.learns = True
        seams.begun(hook, self)
        kind = type(self)
        if not getattr(kind.step, "deadrank", False):
            kind.step = watched_step(hook, kind.step)

    Optimizer.__init__ = watched_begin


def watched_step(hook, real):
    @functools.wraps(real)
    def step(self, *args, **settings):
        if graphs.recording or makes_state():
            return real(self, *args, **settings)
        hook.training.optimizer(self)
        try:
            if "optimizer.step" in hook.injector.levers.skipped:
                return None
            return real(self, *args, **settings)
        finally:
            hook.training.optimized()

    step.deadrank = True
    return step


def makes_state():
    """torch.distributed.checkpoint takes a step with a rate of 0 for the sake of the state that it leaves; a scheduler's
    wrapper may lie between."""
    frame = sys._getframe(2)
    for _ in range(3):
        if frame is None:
            return False
        if frame.f_code.co_name == "_init_optim_state":
            return True
        frame = frame.f_back
    return False


def record_settings(hook, optimizer):
    """Records the optimizer's numbers, once: ranks that train one model have the same."""
    hook.told.add(optimizer)
    hook.optimizers.add(optimizer)  # a copied one was never made
    hook.replicas.learns = True
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
