# runners/backends/local/hook/deadrank_hook/evidence.py — One JSON line per event, each written by one system
# call: a killed rank loses none. In a program that is only watched, events of a rank's local work are
# buffered until the next event that concerns other ranks.
import functools
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
        said = "".join([f', "{name}": {shown(value)}' for name, value in fields.items()])
        return f'{{"t": {at or time.time_ns()}, "rank": {self.slot}, "kind": "{kind}"{said}}}\n'.encode()

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


once_quoted = functools.lru_cache(1024)(quoted)  # mostly names, which come again in every step


def shown(value):
    kind = type(value)
    if kind is int or (kind is float and math.isfinite(value)):
        return repr(value)
    if kind is str:
        return once_quoted(value) if len(value) < 64 else quoted(value)
    return json.dumps(value)


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
