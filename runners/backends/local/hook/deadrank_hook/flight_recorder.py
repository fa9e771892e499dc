# runners/backends/local/hook/deadrank_hook/flight_recorder.py — Dumps torch's own flight recorder to files
# while the rank hangs and when it ends. The files are exactly what torch gives, so `torchfrtrace` and others
# can read them.
import atexit
import os
import threading
import time

PATIENCE = 1.0  # seconds that a call may take before a dump


class Flight:
    def __init__(self, hook):
        import torch._C._distributed_c10d as library

        self.hook = hook
        self.lock = threading.Lock()  # the rank may end during a dump
        self.folder = os.path.join(hook.directory, "flight")
        self.pickled = getattr(library, "_dump_fr_trace", None)
        self.json = getattr(library, "_dump_fr_trace_json", None)
        self.dumped = None  # the call that was waited for at the last dump

    def dump(self):
        with self.lock:
            self.write()

    def write(self):
        """Does nothing if this torch has no recorder, or nothing was recorded."""
        for give, ending in ((self.pickled, ""), (self.json, ".json")):
            if give is None:
                continue
            try:
                data = give()
            except (RuntimeError, TypeError):
                continue
            os.makedirs(self.folder, exist_ok=True)
            path = os.path.join(self.folder, f"rank_{self.hook.slot}{ending}")
            with open(path + ".new", "wb") as file:
                file.write(data if isinstance(data, bytes) else data.encode())
            os.replace(path + ".new", path)

    def look(self):
        waiting = list(self.hook.calls.pending.items())  # calls come and go meanwhile
        oldest, since = min(waiting, key=lambda item: item[1], default=(None, 0))
        if oldest and oldest is not self.dumped and time.time_ns() - since > PATIENCE * 1e9:
            self.dumped = oldest
            self.dump()


def watch(hook):
    hook.flight = Flight(hook)
    if hook.flight.pickled is None:
        return
    hook.threads.every(PATIENCE / 2, hook.flight.look, "deadrank-flight")
    atexit.register(hook.flight.dump)
