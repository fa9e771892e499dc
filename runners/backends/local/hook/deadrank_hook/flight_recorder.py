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

    def watch(self):
        dumped = None
        while True:
            time.sleep(PATIENCE / 2)
            oldest = min(self.hook.calls.pending.items(), key=lambda item: item[1], default=None)
            if oldest and oldest[0] is not dumped and time.monotonic() - oldest[1] > PATIENCE:
                dumped = oldest[0]
                self.dump()


def watch(hook):
    hook.flight = Flight(hook)
    if hook.flight.pickled is None:
        return
    threading.Thread(target=hook.flight.watch, daemon=True, name="deadrank-flight").start()
    atexit.register(hook.flight.dump)
