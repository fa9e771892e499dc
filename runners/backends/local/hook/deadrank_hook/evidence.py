# runners/backends/local/hook/deadrank_hook/evidence.py — One JSON line per event, each written by one system
# call: a killed rank loses none. In a program that is only watched, events of a rank's local work are
# buffered until the next event that concerns other ranks.
import json
import math
import os
import threading
import time
from json.encoder import encode_basestring_ascii as quoted

PATIENT = ("phase.begin", "phase.end", "value.sample", "data.batch")
HELD = 8 << 10  # bytes that may be buffered


class Writer:
    def __init__(self, path, slot):
        self.path = path
        self.slot = slot
        self.file = None
        self.lock = threading.Lock()
        self.off = False
        self.patient = ()
        self.waiting = b""

    def line(self, kind, fields, at=None):
        parts = [f'{{"t": {at or time.time_ns()}, "rank": {self.slot}, "kind": "{kind}"']
        for name, value in fields.items():
            if type(value) is int or (type(value) is float and math.isfinite(value)):
                parts.append(f', "{name}": {value!r}')
            else:
                parts.append(f', "{name}": {quoted(value) if type(value) is str else json.dumps(value)}')
        parts.append("}\n")
        return "".join(parts).encode()

    def write(self, kind, at=None, **fields):
        """`at`: when it happened, in nanoseconds since the epoch, if not now."""
        line = self.line(kind, fields, at)
        with self.lock:
            if self.off:
                return
            self.waiting += line
            if kind not in self.patient or len(self.waiting) > HELD:
                self.flush()

    def flush(self):
        if self.file is None:
            os.makedirs(os.path.dirname(self.path), exist_ok=True)
            self.file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        lines, self.waiting = self.waiting, b""
        while lines:  # a disk that becomes full takes a part of them first, and says so at the next
            lines = lines[os.write(self.file, lines) :]


def code_of(trouble):
    """The evidence's result code for what a library call raised."""
    text = str(trouble)
    if any(words in text for words in ("Timed out", "timed out", "timeout", "Timeout")):
        return "timeout"
    if "onnection" in text or "Read error" in text or "Broken pipe" in text:
        return "remote_error"
    if "mismatch" in text or "rank < size" in text:
        return "invalid_usage"
    return "system_error" if isinstance(trouble, OSError) else "internal_error"
