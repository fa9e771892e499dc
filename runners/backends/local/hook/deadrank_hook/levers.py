# runners/backends/local/hook/deadrank_hook/levers.py — The levers that a fault can pull inside one rank,
# named as in inject/core/levers.h. A lever returns None if it moved, and one sentence if it could not.
import ctypes
import os
import signal
import subprocess
import time

from . import seams, sockets, storage


class Report:
    """Writes the truth of a damage, or of a bent value: once, just before it is done."""

    def __init__(self, hook, fault):
        self.hook, self.fault = hook, fault

    def applied(self):
        if self.fault not in self.hook.injector.damaged:
            self.hook.injector.damaged.add(self.fault)
            self.hook.truth.write("fault.applied", fault=self.fault, step=-1, call="")

    def refused(self, sentence):
        self.hook.truth.write("fault.refused", fault=self.fault, says=sentence)


def identity(file):
    seen = os.stat(file)
    return seen.st_dev, seen.st_ino


class Levers:
    def __init__(self, hook):
        self.hook = hook
        self.slow = 1000  # thousandths: 2000 = everything between two calls takes twice as long
        self.damages = []  # storage.Damage, for the next file they fit
        self.saved = set()  # files that hold a checkpoint, whatever they are called by now
        self.bends = {}  # seam → its bend
        self.skipped = set()  # blocks

    def torch_is_ready(self):
        seams.install(self.hook, self)

    # --- the process
    def kill(self, signal=9, **_):
        os.kill(os.getpid(), signal)

    def exit(self, code=1, says="", **_):
        if code == 0:
            os._exit(0)
        raise RuntimeError(says or f"rank left with code {code}")

    def stop(self, lasts=-1, **_):
        if lasts >= 0:  # a stopped process cannot wake itself
            wake = f"sleep {lasts / 1e9}; kill -CONT {os.getpid()}"
            subprocess.Popen(["/bin/sh", "-c", wake], stdin=subprocess.DEVNULL)
        os.kill(os.getpid(), signal.SIGSTOP)

    def resume(self, **_):
        return None

    def preempt(self, **_):
        os.kill(os.getppid(), signal.SIGTERM)  # as a scheduler tells the launcher to exit

    def set_env(self, name, value, **_):
        os.environ[name] = value

    def unset_env(self, name, **_):
        os.environ.pop(name, None)

    # --- the machine below
    def change_device(self, slow_permille=1000, **_):
        self.slow = slow_permille

    def change_host(self, host_memory_limit=-1, open_files_limit=-1, **_):
        import resource

        for kind, limit in (
            (resource.RLIMIT_DATA, host_memory_limit),
            (resource.RLIMIT_NOFILE, open_files_limit),
        ):
            hard = resource.getrlimit(kind)[1]
            resource.setrlimit(kind, (limit if limit >= 0 else hard, hard))

    def change_link(self, down=False, reset=False, late=0, **_):
        return sockets.change(2 if down and reset else 1 if down else 0, late)

    def change_network(self, peer="", one_way=False, down=None, reset=False, loss=None, **_):
        reset = reset if down is not None else None
        return self.hook.network.change(peer, one_way, down=down, reset=reset, loss=loss)

    def change_store(self, how="", late=0, amount=0, **_):
        return self.hook.store.change(how, late, amount)

    def change_storage(self, what, path="", amount=0, end=False, fault=-1, **_):
        if what not in storage.KINDS:
            return f"storage cannot be changed by '{what}' here"
        place = self.hook.plan.get("checkpoints", "")
        if what in storage.BELOW:
            own = "DEADRANK_KEPT" in os.environ  # the program's own files, wherever they are
            places = [path] if path else [place, ""] if own else [place]
            return self.change_below(what, places, amount, end, fault)
        if end:
            self.damages = [damage for damage in self.damages if (damage.what, damage.path) != (what, path)]
            return None
        run = os.path.dirname(self.hook.directory.rstrip("/"))
        damage = storage.Damage(what, path, amount, run=run, report=Report(self.hook, fault))
        file = None
        if what in storage.AT_ONCE:
            theirs = [file for file in storage.changed_by_job() if path or identity(file) in self.saved]
            file = damage.target(place, self.hook.slot, theirs)
        if not file or not damage.at_rest(file):
            self.damages.append(damage)  # nothing to damage yet: wait for the next file that fits
        return None

    def change_below(self, what, places, amount, end, fault):
        library = ctypes.CDLL(None)
        if not hasattr(library, "deadrank_storage_fault"):
            return "libdeadrank-files.so is not loaded in this rank"
        for place in places:
            library.deadrank_storage_fault(
                what.encode(),
                os.fsencode(place),
                ctypes.c_longlong(amount * storage.ELEMENT if what == "full" else amount),
                ctypes.c_int(end),
                ctypes.c_longlong(fault),
            )
        return None

    # --- the program
    def alter_call(self, altered=None, **alteration):
        if altered is None:
            return "this moment is no call that could be altered"
        alteration.pop("lasts", None)
        return altered.alter(alteration)

    def bend(self, seam, fault=-1, **bend):
        if not seams.known(self.hook, seam):
            return f"the subject exposes no value '{seam}'"
        self.bends[seam] = {**bend, "report": Report(self.hook, fault)}
        seams.changed(self.hook, self, seam)
        return None

    def unbend(self, seam, **_):
        self.bends.pop(seam, None)

    def skip_block(self, block, skip=True, **_):
        if not seams.known(self.hook, block):
            return f"the subject shows no block '{block}'"
        (self.skipped.add if skip else self.skipped.discard)(block)
        return None

    # --- asked by the watchers
    def bent(self, seam, value):
        """The value as the rank gets to see it: value × multiply / divide + add, or what was set."""
        bend = self.bends.get(seam)
        if bend is None:
            return value
        bend["report"].applied()  # not before: a program without a sampler has no share that could be bent
        if bend.get("set_it"):
            return type(value)(bend.get("set", 0))
        whole = isinstance(value, int)
        scaled = value * bend.get("multiply", 1)
        scaled = scaled // bend.get("divide", 1) if whole else scaled / bend.get("divide", 1)
        return scaled + bend.get("add", 0)

    def stretch(self, seconds):
        if self.slow > 1000:
            time.sleep(seconds * (self.slow - 1000) / 1000)
