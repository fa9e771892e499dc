# runners/promises/programs/counted_task.py — The training that every program here does: small, bit-identical
# each time, every sample counted. A program marks its phases; if the plan has a fault for that moment, the
# process applies it to itself. The framework underneath does not know.
import ctypes
import hashlib
import json
import os
import pathlib
import random
import signal
import threading
import time

RUN = pathlib.Path(os.environ["DEADRANK_PROMISE_RUN"])
STEPS = int(os.environ.get("DEADRANK_PROMISE_STEPS", "16"))
STEP_SECONDS = float(os.environ.get("DEADRANK_PROMISE_STEP_SECONDS", "0.15"))
SAVE_EVERY = 2
BATCH = 4  # samples per worker and step
FEATURES = 6


class Raised(RuntimeError):
    """The fault `raise`: a worker fails with an exception of its own."""


def _first(path):
    """Whether this process creates the file: a fault happens once, however many lives a worker has."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))
        return True
    except FileExistsError:
        return False


class Recorder:
    """Writes what a worker does, one line of JSON per event. `unit` is its number, the same in each life."""

    def __init__(self, unit):
        self.unit = unit
        for place in ("events", "once", "checkpoints"):
            (RUN / place).mkdir(exist_ok=True)
        self.file = open(RUN / "events" / f"{unit}-{os.getpid()}.jsonl", "a", buffering=1, encoding="utf-8")
        faults = RUN / "faults.json"
        self.faults = json.loads(faults.read_text()) if faults.exists() else []
        self.life = 0
        self.step = -1
        self.slow = 0.0

    def begin(self, step=-1):
        """A life of the worker: a new process, or another call of the function in the same one."""
        self.life = next(n for n in range(1, 1000) if _first(RUN / "once" / f"life-{self.unit}-{n}"))
        self.write("begin", step=step, life=self.life)

    def write(self, event, **fields):
        line = {"at": time.clock_gettime_ns(time.CLOCK_MONOTONIC), "unit": self.unit, "pid": os.getpid(),
                "event": event, **fields}
        self.file.write(json.dumps(line) + "\n")

    def phase(self, name, step, task=None):
        self.step = step
        self.write("phase", phase=name, step=step)
        if name == "forward":
            time.sleep(STEP_SECONDS + self.slow)
        for number, fault in enumerate(self.faults):
            if fault["unit"] != self.unit or fault["phase"] != name or self.life < fault.get("life", 1):
                continue
            if step < fault["step"]:
                continue
            if _first(RUN / "once" / f"fault-{number}"):
                self._pull(fault, task)

    def _pull(self, fault, task):
        action, seconds = fault["do"], fault.get("seconds", 0)
        if action == "kill_after":  # during the next call, while it waits for the others
            threading.Timer(seconds, self._kill, args=(fault,)).start()
            return
        self.write("fault", do=action, step=self.step, seconds=seconds)
        if action == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif action == "raise":
            raise Raised(f"worker {self.unit} fails at step {self.step}")
        elif action == "stop":  # the player wakes it
            os.kill(os.getpid(), signal.SIGSTOP)
        elif action == "wait":
            time.sleep(seconds)
        elif action == "slow":
            self.slow = seconds
        elif action == "corrupt":
            task.corrupt()
        elif action == "jump_clock":
            jump_clock(seconds)
        elif action == "fill_disk":
            fill_disk(RUN / "checkpoints")

    def _kill(self, fault):
        self.write("fault", do="kill", step=self.step, seconds=fault.get("seconds", 0))
        os.kill(os.getpid(), signal.SIGKILL)

    def committed(self, step, loss, samples):
        self.write("step", step=step, loss=repr(float(loss)), samples=samples)

    def final(self, step, **digests):
        self.write("final", step=step, **digests)


def jump_clock(seconds):
    """The wall clock as Python code in this process reads it; native code still reads the old one."""
    real, real_ns = time.time, time.time_ns
    time.time = lambda: real() + seconds
    time.time_ns = lambda: real_ns() + int(seconds * 1e9)


def samples_of(step, share, shares, batch=BATCH):
    """The samples of one share in a step: every sample belongs to one step and one share."""
    first = (step * shares + share) * batch
    return list(range(first, first + batch))


def numbers_of(sample):
    """A sample's features and target, from its number alone."""
    draw = random.Random(sample)
    features = [draw.uniform(-1, 1) for _ in range(FEATURES)]
    return features, [sum(features) * 0.5, max(features)]


def digest(tensors):
    """Hash of named tensors or arrays, by their bytes."""
    total = hashlib.sha256()
    for name in sorted(tensors):
        value = tensors[name]
        value = value.detach().cpu().numpy() if hasattr(value, "detach") else value
        total.update(name.encode() + bytes(memoryview(value).cast("B")) if getattr(value, "ndim", 1)
                     else name.encode() + value.tobytes())
    return total.hexdigest()[:16]


def fill_disk(path):
    """This process can write no more bytes below the path: the preloaded library refuses its system calls."""
    library = ctypes.CDLL(None)
    if not hasattr(library, "deadrank_storage"):
        raise RuntimeError("libdeadrank-files.so is not loaded")
    library.deadrank_storage(b"full", str(path).encode(), ctypes.c_longlong(0), 0)
