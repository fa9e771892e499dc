# runners/backends/local/hook/deadrank_hook/evidence.py — One JSON line an event, written by one system call
# each: a killed rank loses none.
import json
import os
import threading
import time


class Writer:
    def __init__(self, path, slot):
        self.path = path
        self.slot = slot
        self.file = None
        self.lock = threading.Lock()
        self.off = False

    def write(self, kind, **fields):
        line = json.dumps({"t": time.time_ns(), "rank": self.slot, "kind": kind, **fields}) + "\n"
        with self.lock:
            if self.off:
                return
            if self.file is None:
                os.makedirs(os.path.dirname(self.path), exist_ok=True)
                self.file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            os.write(self.file, line.encode())


def code_of(trouble):
    """The result code, in the evidence's words, of what a library call raised."""
    text = str(trouble)
    if any(words in text for words in ("Timed out", "timed out", "timeout", "Timeout")):
        return "timeout"
    if "onnection" in text or "Read error" in text or "Broken pipe" in text:
        return "remote_error"
    if "mismatch" in text or "rank < size" in text:
        return "invalid_usage"
    return "system_error" if isinstance(trouble, OSError) else "internal_error"
