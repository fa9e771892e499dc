# sim/managed/python/deadrank/files.py — Ranks share the files of this machine. They may compute at the same time; files
# they use one after the other, in the order of the simulation. A rank that removes a file lets time pass before, so
# that the ranks which read it at the same moment find it.
import ctypes
import errno
import fcntl
import functools
import os
import sys
import threading

from . import subprocesses
from .channel import here

PAUSE = 100_000  # ns: longer than ranks are apart that a barrier lets go together
FIRST_LOOK, LAST_LOOK = 100_000, 1_000_000_000  # ns between two looks at a lock that another process holds

last = None  # when this rank removed something


class FileTurn:
    """The library that stands before libc's calls asks for the rank's turn before it opens a file or changes a name,
    in the thread whose number `due` holds. What only looks at names asks here."""

    def __init__(self, library, channel):
        own = {os.path.dirname(os.__file__), sys.prefix, sys.base_prefix, os.path.dirname(os.path.dirname(__file__))}
        library.deadrank_turn_begin(channel, os.fsencode(os.pathsep.join(sorted(own))))
        self.due = ctypes.c_int.in_dll(library, "deadrank_turn_due")
        self.library = library

    def end(self):
        """From now on this thread has to ask."""
        self.due.value = threading.get_native_id()

    def note(self, beside_others):
        """A reply came. If no other rank runs beside this one, it has its turn."""
        self.due.value = threading.get_native_id() if beside_others else 0

    def pass_to_this_thread(self):
        if self.due.value:
            self.end()

    def take(self, path):
        if self.due.value and isinstance(path, (str, bytes, os.PathLike)):
            self.library.deadrank_turn_take(os.fsencode(path), 0)


def begin():
    """In a rank, if its simulator lets others run beside it."""
    if not here.options.get("beside_others", False):
        return
    library = ctypes.PyDLL(None)  # a call keeps the lock of the interpreter
    if hasattr(library, "deadrank_turn_begin"):
        here.file_turn = FileTurn(library, here.channel.socket.fileno())


def in_turn(real):
    @functools.wraps(real)
    def look(path=".", *args, **said):
        if here.file_turn is not None:
            here.file_turn.take(path)
        return real(path, *args, **said)

    return look


def yield_to_readers():
    global last
    now = here.channel.time()
    if now != last:
        here.turns.sleep_until(now + PAUSE)
        last = here.channel.time()


def later(real):
    @functools.wraps(real)
    def remove(*args, **said):
        if here.channel is not None:
            yield_to_readers()
        return real(*args, **said)

    return remove


def waiting(real):
    """`fcntl.flock` and `fcntl.lockf`: a rank that waited in the kernel would keep the owner from its turn."""

    @functools.wraps(real)
    def lock(file, operation, *rest):
        if here.turns is None or operation & (fcntl.LOCK_NB | fcntl.LOCK_UN):
            return real(file, operation, *rest)
        pause = FIRST_LOOK
        while True:
            subprocesses.take_turn()
            try:
                return real(file, operation | fcntl.LOCK_NB, *rest)
            except OSError as trouble:
                if trouble.errno not in (errno.EAGAIN, errno.EACCES):
                    raise
            subprocesses.pause_really(pause)
            here.turns.sleep_until(here.channel.time() + pause)
            pause = min(2 * pause, LAST_LOOK)

    return lock


def install():
    """In the zygote, before modules take these functions. The import system has functions of its own."""
    os.remove, os.unlink, os.rmdir = later(os.remove), later(os.unlink), later(os.rmdir)
    for name in ("stat", "lstat", "access", "listdir", "scandir", "readlink", "chmod", "utime"):
        setattr(os, name, in_turn(getattr(os, name)))
    fcntl.flock, fcntl.lockf = waiting(fcntl.flock), waiting(fcntl.lockf)
