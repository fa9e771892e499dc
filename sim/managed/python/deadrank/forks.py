# sim/managed/python/deadrank/forks.py — A rank that waits for a reply becomes two: the copy goes on in another
# simulation of the same job, over a channel and an arena of its own.
import ctypes
import fcntl
import json
import mmap
import os
import platform
import signal
import socket
import stat

from .channel import ARENA_MAP, FORKED, HEADER

CLONE_PARENT, CLONE_CHILD_SETTID = 0x00008000, 0x01000000
NEW_MOUNTS, NEW_USER = 0x00020000, 0x10000000  # CLONE_NEWNS, CLONE_NEWUSER
GETTID = {"x86_64": 186, "aarch64": 178}.get(platform.machine())
CLONE = {"x86_64": 56, "aarch64": 220}.get(platform.machine())
KILL = (1, signal.SIGKILL)  # PR_SET_PDEATHSIG
# Threads that a copy can do without: autograd's, one for each device, which do nothing in a rank (devices.py), and the
# one in which the allocator of pyarrow gives memory back.
IDLE = ("pt_autograd_", "jemalloc_bg_thd")
THREAD_SIZE = 2048  # bytes of glibc's struct pthread in which the thread's number is looked for

library = ctypes.PyDLL(None, use_errno=True)  # a call keeps the lock of the interpreter
library.syscall.restype = ctypes.c_long
library.pthread_self.restype = ctypes.c_void_p


def fork(channel):
    """The simulator asks for a copy. The answer names its pid, or says why there is none."""
    _, files, _, _ = socket.recv_fds(channel.socket, 64, 4)
    why = find_obstacle({channel.socket.fileno(), channel.arena.file, *files})
    pid = 0 if why else clone()
    if why or pid:
        for file in files:
            os.close(file)
        answer = json.dumps({"pid": pid, "why": why}).encode()
        channel.socket.send(HEADER.pack(FORKED, 0, 0, len(answer), 0) + answer)
    else:
        become(channel, *files)


def find_obstacle(own):
    """Why a copy of this process could not go on as it would; empty: it can."""
    if CLONE is None or number_address() is None:
        return f"processes cannot be copied on {platform.machine()} with this C library"
    threads = count_threads()
    if threads > 1:
        return f"it has {threads} threads"
    with open("/proc/thread-self/children", encoding="ascii") as file:
        if file.read().strip():
            return "it has started a process"
    return find_shared_file(own)


def count_threads():
    count = 0
    for task in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{task}/comm", encoding="ascii", errors="replace") as file:
            count += not file.read().startswith(IDLE)
    return count


inherited = set()  # descriptors that the rank had when it began: of whoever started deadrank


def note_inherited():
    inherited.update(int(name) for name in os.listdir("/proc/self/fd"))


def find_shared_file(own):
    """Two processes would write at one place of an open file, or talk over one socket. `own`: files of deadrank's."""
    kept = os.environ.get("DEADRANK_KEPT", "\0")
    for name in os.listdir("/proc/self/fd"):
        try:
            number = int(name)
            kind = os.fstat(number).st_mode
            path = os.readlink(f"/proc/self/fd/{name}")
        except OSError:  # that of the list itself
            continue
        written = fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY
        if number in own or number in inherited or path.startswith(kept):
            continue
        if stat.S_ISSOCK(kind):
            return "it has a socket of its own"
        if stat.S_ISREG(kind) and written:
            return f"it has {path} open for writing"
    return ""


def number_address():
    """Where the C library keeps this thread's number, which a copy of the process has to change."""
    here = library.pthread_self()
    words = (ctypes.c_int * (THREAD_SIZE // 4)).from_address(here)
    number = library.syscall(GETTID)
    places = [place for place, word in enumerate(words) if word == number]
    return here + 4 * places[0] if len(places) == 1 else None


def clone():
    """As fork(), but the zygote is the parent, and no library hears of it: torch's autograd would refuse to work."""
    flags = CLONE_PARENT | CLONE_CHILD_SETTID | signal.SIGCHLD
    number = ctypes.c_void_p(number_address())
    none = ctypes.c_void_p(0)
    last = (number, none) if platform.machine() == "x86_64" else (none, number)
    pid = library.syscall(CLONE, ctypes.c_ulong(flags), none, none, *last)
    if pid < 0:
        raise OSError(ctypes.get_errno(), "deadrank: a rank cannot be copied")
    return pid


def become(channel, ours, out, err, arena):
    library.prctl(*KILL, 0, 0, 0)
    os.setpgid(0, 0)
    for file, number in ((ours, channel.socket.fileno()), (out, 1), (err, 2), (arena, channel.arena.file)):
        os.dup2(file, number, inheritable=number in (1, 2))
        os.close(file)
    # At the same address, so that tensors over the arena stay.
    library.mmap.restype = ctypes.c_void_p
    library.mmap.argtypes = ARENA_MAP
    read_write, shared_fixed_no_reserve = mmap.PROT_READ | mmap.PROT_WRITE, 0x1 | 0x10 | 0x4000
    base = ctypes.c_void_p(channel.arena.base)
    if library.mmap(base, channel.arena.room, read_write, shared_fixed_no_reserve, channel.arena.file, 0) in (
        None,
        ctypes.c_void_p(-1).value,
    ):
        os._exit(1)


def await_copies_before_changes(lock):
    """Copies of this rank's job keep the file `lock` locked while they read what the rank leaves unchanged; None: this
    rank changes files that no copy reads."""
    library.deadrank_copies_begin(os.fsencode(lock) if lock else None)


def enter(pid):
    """The files that this process and those of its simulation see and change are theirs alone."""
    if hasattr(library, "deadrank_copies_begin"):
        await_copies_before_changes(None)
    directory = os.getcwd()
    kinds = []
    if os.stat(f"/proc/{pid}/ns/user").st_ino != os.stat("/proc/self/ns/user").st_ino:
        kinds.append(("user", NEW_USER))
    kinds.append(("mnt", NEW_MOUNTS))
    files = [(os.open(f"/proc/{pid}/ns/{name}", os.O_RDONLY), kind) for name, kind in kinds]
    for file, kind in files:
        if library.setns(file, kind) != 0:
            raise OSError(ctypes.get_errno(), "deadrank: a rank cannot enter the files of its simulation")
        os.close(file)
    os.chdir(directory)
    if len(kinds) > 1:  # a new namespace of users gives rights that the program did not have
        version_3 = (ctypes.c_uint32 * 2)(0x20080522, 0)
        library.capset(version_3, (ctypes.c_uint32 * 6)())
