# runners/backends/local/hook/deadrank_hook/evidence.py — One JSON line per event, and none that a killed rank
# had written is lost: a line is written by one system call, or, in a program that is only watched, stored in
# a file that is mapped into memory.
import errno
import functools
import json
import math
import mmap
import os
import threading
import time
from json.encoder import encode_basestring_ascii as quoted

ROOM = 64 << 10  # bytes of a mapped file that are asked for at once


class Writer:
    """Each line is written by one system call."""

    flags = os.O_WRONLY | os.O_APPEND

    def __init__(self, path, slot):
        self.path = path
        self.slot = slot
        self.file = None
        self.lock = threading.Lock()
        self.off = False

    def line(self, kind, fields, at=None):
        said = "".join([f', "{name}": {shown(value)}' for name, value in fields.items()])
        return f'{{"t": {at or time.time_ns()}, "rank": {self.slot}, "kind": "{kind}"{said}}}\n'.encode()

    def form(self, kind, *names, **fields):
        """A line that is written often, as a format for `%`: its time and the numbers of these names are
        still open. The time comes first."""
        said = "".join([f', "{name}": {shown(value)}' for name, value in fields.items()]).replace("%", "%%")
        numbers = "".join([f', "{name}": %a' for name in names])
        return f'{{"t": %d, "rank": {self.slot}, "kind": "{kind}"{said}{numbers}}}\n'.encode()

    def write(self, kind, at=None, **fields):
        """`at`: when it happened, in nanoseconds since the epoch, if not now."""
        self.put(self.line(kind, fields, at))

    def put(self, line):
        with self.lock:
            if self.off:
                return
            if self.file is None:
                self.open()
            while line:  # a disk that becomes full takes a part of them first, and says so at the next
                line = line[os.write(self.file, line) :]

    def open(self):
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        self.file = os.open(self.path, self.flags | os.O_CREAT | os.O_CLOEXEC, 0o644)


class Mapped(Writer):
    """Lines are stored in memory that the kernel keeps as a file, so that none takes a system call. Room is
    asked for in advance, since a store for which the disk has no room would end the process; behind the last
    line it holds zeros. A process has a file of its own."""

    flags = os.O_RDWR

    def __init__(self, path, slot):
        super().__init__(f"{path.removesuffix('.jsonl')}.{os.getpid()}.{time.time_ns()}.jsonl", slot)
        self.map = None
        self.begins = self.end = self.room = 0  # where the map begins in the file; its use; its size

    def put(self, line):
        with self.lock:
            if self.off:
                return
            end = self.end + len(line)
            if end > self.room:
                self.more(len(line))
                end = self.end + len(line)
            self.map[self.end : end] = line
            self.end = end

    def more(self, length):
        if self.file is None:
            self.open()
        at = self.begins + self.end
        begins = at - at % mmap.ALLOCATIONGRANULARITY
        room = self.reserve(begins, at - begins + length)
        self.map = mmap.mmap(self.file, room, flags=mmap.MAP_SHARED | POPULATE, offset=begins)
        self.begins, self.end, self.room = begins, at - begins, room

    def reserve(self, begins, least):
        """A disk that is nearly full may have a little room left."""
        for more in (ROOM, ROOM // 4, 0):
            room = -(-(least + more) // mmap.PAGESIZE) * mmap.PAGESIZE
            try:
                os.posix_fallocate(self.file, begins, room)
                return room
            except OSError as trouble:
                if more == 0 or trouble.errno not in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT):
                    raise
        return 0


POPULATE = getattr(mmap, "MAP_POPULATE", 0)  # its pages are there before the first store

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
