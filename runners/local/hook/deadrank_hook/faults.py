# runners/local/hook/deadrank_hook/faults.py — Waits for each fault's moment on this rank and pulls its lever then.
# The words of a moment are those of a scenario's `when`; what was done is written down before the rank goes on.
import os
import threading
import time

from .levers import Levers


class Trigger:
    """When one fault acts. Unset members match everything; `nth` counts within a step when a step is given."""

    def __init__(self, when):
        self.step = when.get("step", -1)
        self.until = when.get("until_step", -1)
        self.phase = when.get("phase", "")
        self.before = when.get("before", "") or ("phase" if self.phase else "step")
        self.comm = when.get("comm", "")
        self.nth = max(1, when.get("nth", 1))
        self.always = when.get("always", False)
        self.at = when.get("at", -1)
        self.at_start = when.get("at_start", False)
        self.lasts = when.get("lasts", -1)
        self.seen = self.fired = 0
        self.seen_in = None

    def matches(self, call, comm, step, phase):
        if self.at_start or self.at >= 0 or call != self.before:
            return False
        if (self.comm and comm != self.comm) or (self.phase and phase != self.phase):
            return False
        if self.step >= 0 and not self.in_step(step):
            return False
        if self.step >= 0 and not self.always and step != self.seen_in:
            self.seen, self.seen_in = 0, step
        self.seen += 1
        if self.always:
            return self.seen >= self.nth
        return self.seen == self.nth and not self.fired

    def in_step(self, step):
        if not self.always:
            return step == self.step
        return step >= self.step and (self.until < 0 or step <= self.until)


class Armed:
    def __init__(self, entry):
        self.fault = entry["fault"]
        self.trigger = Trigger(entry.get("when", {}))
        self.pull = dict(entry["pull"])
        self.undo = entry.get("undo")
        self.says = entry.get("says", "")


class Injector:
    def __init__(self, hook):
        self.hook = hook
        self.phase = ""
        mine = [entry for entry in hook.plan.get("faults", ()) if hook.slot in entry.get("ranks", ())]
        self.armed = [Armed(entry) for entry in mine]
        self.levers = Levers(hook)

    def begin(self):
        """Faults of the start and of a stated time after the job's start."""
        started = int(os.environ.get("DEADRANK_STARTED") or time.time_ns())
        for armed in self.armed:
            if armed.trigger.at_start:
                self.pull(armed, None)
            elif armed.trigger.at >= 0:
                wait = max(0.0, (started + armed.trigger.at - time.time_ns()) / 1e9)
                self.later(wait, lambda armed=armed: self.pull(armed, None))

    def torch_is_ready(self):
        self.levers.torch_is_ready()

    def group_is_ready(self):
        self.levers.ready = True

    def at(self, call, comm="", altered=None):
        """The rank is at a call, a phase or a step. `altered` is that call when a fault may alter it."""
        for armed in self.armed:
            if armed.trigger.matches(call, comm, self.hook.step, self.phase):
                self.pull(armed, altered)

    def pull(self, armed, altered):
        pull = dict(armed.pull)
        lever = getattr(self.levers, pull.pop("lever"), None)
        refused = "this backend has no such lever" if lever is None else ""
        if not refused:
            mark = {"fault": armed.fault, "step": self.hook.step, "says": armed.says}
            # Written first: a rank that is killed or stopped by its own fault says nothing afterwards.
            if not armed.trigger.fired:
                self.hook.truth.write("fault.applied", **mark)
            armed.trigger.fired += 1
            refused = lever(altered=altered, lasts=armed.trigger.lasts, **pull)
        if refused:
            self.hook.truth.write("fault.refused", fault=armed.fault, says=refused)
        elif armed.undo and armed.trigger.lasts >= 0:
            self.later(armed.trigger.lasts / 1e9, lambda: self.revert(armed))

    def revert(self, armed):
        undo = dict(armed.undo)
        getattr(self.levers, undo.pop("lever"))(altered=None, lasts=-1, **undo)
        self.hook.truth.write("fault.reverted", fault=armed.fault)

    @staticmethod
    def later(seconds, call):
        timer = threading.Timer(seconds, call)
        timer.daemon = True
        timer.start()
