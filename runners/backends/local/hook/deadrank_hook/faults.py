# runners/backends/local/hook/deadrank_hook/faults.py — Waits for each fault's moment on this rank and pulls
# its lever then. Moments use the words of a scenario's `when`; what was done is recorded before the rank goes
# on.
import json
import os
import threading
import time

from .levers import Levers

COLLECTIVES = (
    "all_reduce",
    "broadcast",
    "reduce",
    "all_gather",
    "reduce_scatter",
    "all_to_all",
    "gather",
    "scatter",
    "barrier",
)
MESSAGES = ("send", "recv")
FAMILIES = {"collective": COLLECTIVES, "message": MESSAGES, "communication": COLLECTIVES + MESSAGES}

WAITING = ("change_storage", "bend")  # levers


class Trigger:
    """When one fault acts on this rank, in the words of a plan. Unset members match everything."""

    def __init__(self, when):
        self.step = when.get("step", -1)
        self.until = when.get("until_step", -1)
        self.phase = when.get("phase", "")
        self.comm = when.get("comm", "")
        self.before = when.get("before", "")
        self.nth = max(1, when.get("nth", 1))
        self.always = when.get("always", False)
        self.at = when.get("at", -1)
        self.lasts = when.get("lasts", -1)
        self.off, self.times = when.get("off", 0), when.get("times", 1)  # repeats after it was reverted
        somewhere = self.step >= 0 or self.phase or self.before or self.comm
        self.at_start = when.get("at_start", False) or (self.at < 0 and not somewhere and not self.always)
        self.by_clock = self.at >= 0 and not self.at_start and not somewhere
        self.call = self.before or ("communication" if self.comm else "phase" if self.phase else "step")
        self.seen = self.fired = 0

    def matches(self, call, comm, step, phase, since_start):
        if self.at_start or self.by_clock or (self.fired and not self.always):
            return False
        if self.at >= 0 and since_start < self.at:
            return False
        if call != self.call and call not in FAMILIES.get(self.call, ()):
            return False
        if (
            (self.comm and comm != self.comm)
            or (self.phase and phase != self.phase)
            or not self.in_step(step)
        ):
            return False
        self.seen += 1
        return self.seen >= self.nth

    def in_step(self, step):
        if self.over(step):
            return False
        if self.step < 0:
            return True
        return step >= self.step if self.always else step == self.step

    def over(self, step):
        return 0 <= self.until < step


class Armed:
    def __init__(self, entry):
        self.fault = entry["fault"]
        self.trigger = Trigger(entry.get("when", {}))
        self.pulls = entry["pulls"]
        self.undo = entry.get("undo", ())
        self.says = entry.get("says", "")
        self.active = False
        self.acts = 0
        # Storage is damaged when a matching file appears, and a value is bent when the program uses it; until
        # then the fault has not acted.
        self.waits = bool(self.pulls) and all(pull["lever"] in WAITING for pull in self.pulls)


def earlier_marks(truth):
    """What this rank wrote before it was restarted."""
    if not os.path.exists(truth):
        return []
    with open(truth, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.endswith("\n")]


def faults_done(marks):
    """Faults that have acted: a restarted job is not killed again."""
    return {mark.get("fault") for mark in marks if mark.get("kind") == "fault.applied"}


def faults_pending(marks):
    """Faults whose moment came before a restart, and that had found no file yet."""
    return {mark.get("fault") for mark in marks if mark.get("kind") == "fault.waits"} - faults_done(marks)


def may_act(entry, done):
    """A fault acts once, unless it repeats or sets a state of the rank or its machine, which must outlive the
    process."""
    when = entry.get("when", {})
    return entry["fault"] not in done or entry.get("undo") or when.get("always") or when.get("at_start")


class Injector:
    def __init__(self, hook):
        self.hook = hook
        self.phase = ""
        mine = [entry for entry in hook.plan.get("faults", ()) if hook.slot in entry.get("ranks", ())]
        marks = earlier_marks(hook.truth.path)
        done = faults_done(marks)
        self.armed = [Armed(entry) for entry in mine if may_act(entry, done)]
        self.pending = faults_pending(marks)
        self.damaged = set()  # storage faults that this process has reported as applied
        self.levers = Levers(hook)
        begun = [mark["t"] for mark in marks if mark.get("kind") == "clock.begins"]
        self.started = begun[0] if begun else None  # when the job began, not this process

    def begin(self):
        """Pulls the faults of the start, and sets timers for timed ones if the clock began before a
        restart."""
        for armed in self.armed:
            if armed.trigger.at_start or (armed.fault in self.pending and not armed.undo):
                self.pull(armed, None)
        if self.started is not None:
            self.start_timers()

    def torch_is_ready(self):
        """A plan's clock begins here: it does not count the seconds that an import takes."""
        self.levers.torch_is_ready()
        timed = any(armed.trigger.at >= 0 for armed in self.armed)
        if self.started is None and timed:
            self.started = time.time_ns()
            self.hook.truth.write("clock.begins")
            self.start_timers()

    def start_timers(self):
        for armed in self.armed:
            if armed.trigger.by_clock:
                wait = (armed.trigger.at - self.since_start()) / 1e9
                self.later(max(0.0, wait), lambda armed=armed: self.pull(armed, None))

    def at(self, call, comm="", altered=None):
        """Called at a call, a phase or a step. `altered` is the call, if a fault may alter it."""
        for armed in self.armed:
            if armed.active and armed.undo and armed.trigger.over(self.hook.shown_step()):
                self.revert(armed)
            elif armed.trigger.matches(call, comm, self.hook.shown_step(), self.phase, self.since_start()):
                self.pull(armed, altered, call)

    def since_start(self):
        return -1 if self.started is None else time.time_ns() - self.started

    def pull(self, armed, altered, call=""):
        # Written first: a rank that is killed or stopped by its own fault writes nothing afterwards.
        if not armed.trigger.fired:
            mark = {"fault": armed.fault, "step": self.hook.shown_step(), "call": call, "says": armed.says}
            self.hook.truth.write("fault.waits" if armed.waits else "fault.applied", **mark)
        armed.trigger.fired += 1
        if altered is not None:
            altered.fault = armed.fault
        for pull in armed.pulls:
            refused = self.move(pull, altered, armed.trigger.lasts, armed.fault)
            if refused:
                self.hook.truth.write("fault.refused", fault=armed.fault, says=refused)
                return
        armed.active = True
        armed.acts += 1
        if armed.undo and armed.trigger.lasts >= 0:
            self.later(armed.trigger.lasts / 1e9, lambda: self.rest(armed))

    def move(self, pull, altered, lasts, fault=-1):
        settings = {name: value for name, value in pull.items() if name != "lever"}
        if pull["lever"] in WAITING:
            settings["fault"] = fault
        lever = getattr(self.levers, pull["lever"], None)
        if lever is None:
            return f"a rank of a real job has no lever {pull['lever']}"
        return lever(altered=altered, lasts=lasts, **settings)

    def rest(self, armed):
        """Reverts a fault whose time is over; one with a rhythm comes again."""
        self.revert(armed)
        if armed.acts < armed.trigger.times:
            self.later(armed.trigger.off / 1e9, lambda: self.pull(armed, None))

    def revert(self, armed):
        armed.active = False
        for pull in armed.undo:
            self.move(pull, None, -1)
        self.hook.truth.write("fault.reverted", fault=armed.fault)

    @staticmethod
    def later(seconds, call):
        timer = threading.Timer(seconds, call)
        timer.daemon = True
        timer.start()
