# sim/managed/python/deadrank/zygote.py — A warm interpreter that has imported torch and forks one child for each
# rank: python -m deadrank.zygote --control FD [--hook DIRECTORY] [--program FILE]
# [--patched FD] [--preload MODULE ...]
import os
import sys

from deadrank import clocks, files, frameworks, subprocesses, threads

subprocesses.install()
clocks.install()  # before anything else takes Python's own
files.install()
threads.install()
frameworks.install()

import argparse
import array
import atexit
import contextlib
import ctypes
import gc
import importlib
import json
import multiprocessing.connection
import multiprocessing.synchronize
import platform
import selectors
import signal
import socket
import weakref
from collections import deque

from deadrank import forks, imports, launch, patches, streams

LONGEST = 1 << 20
OBSERVERS = ("checkpoints", "data", "evidence", "groups", "later", "replicas", "training")


def main():
    arguments = read_arguments()
    fix_layout()
    if arguments.patched is not None:
        patches.install(arguments.patched)
    control = socket.socket(fileno=arguments.control)
    control.set_inheritable(False)
    observers = []
    if arguments.hook:
        sys.path.append(arguments.hook)
        observers = [f"deadrank_hook.{name}" for name in OBSERVERS]
    if not getattr(sys.flags, "safe_path", False):  # since Python 3.11
        del sys.path[0]  # the directory in which the zygote was started: no program's
    with output_on_stderr():
        loaded, failed = preload([*arguments.preload, *observers], arguments.program)
    subprocesses.install_pipes(multiprocessing.connection)
    subprocesses.install_semaphores(multiprocessing.synchronize)
    clocks.rebind()
    leave_exits_to_the_zygote()
    gc.collect()
    gc.freeze()
    torch = sys.modules.get("torch")
    said = {
        "ready": True,
        "python": platform.python_version(),
        "torch": getattr(torch, "__version__", ""),
        "modules": loaded,
        "failed": failed,
        "threads": len(os.listdir("/proc/self/task")),
    }
    control.send(json.dumps(said).encode())
    serve(control)


@contextlib.contextmanager
def output_on_stderr():
    """Some packages print when they are imported, and standard output may be somebody's JSON."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)


def read_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--control", type=int, required=True)
    parser.add_argument("--preload", nargs="*", action="extend", default=[])
    parser.add_argument("--program", default="", help="a script: the packages that it imports are imported once")
    parser.add_argument("--patched", type=int, help="a descriptor of patched files of installed packages (patches.py)")
    parser.add_argument("--hook", default="", help="the directory that holds deadrank_hook")
    return parser.parse_args()


def fix_layout():
    """Addresses and hashes of strings order sets: they are the same in every run."""
    import ctypes

    random_addresses, keep = 0x0040000, 0xFFFFFFFF
    library = ctypes.CDLL(None)
    now = library.personality(keep)
    hashes = os.environ.get("PYTHONHASHSEED")
    if (now == -1 or now & random_addresses) and hashes not in (None, "random"):
        return
    if os.environ.get("DEADRANK_ZYGOTE_LAYOUT"):
        return
    if now != -1:
        library.personality(now | random_addresses)
    os.environ["DEADRANK_ZYGOTE_LAYOUT"] = "1"
    if hashes in (None, "random"):
        os.environ["PYTHONHASHSEED"] = "0"
    os.execv(sys.executable, [sys.executable, "-m", "deadrank.zygote", *sys.argv[1:]])


def preload(names, program=""):
    """torch first, the packages that `program` imports last. A module that cannot be imported is left to the program, which shows the trouble."""
    os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")  # the other check makes forked children fail
    for library in ("OMP", "OPENBLAS", "MKL"):
        os.environ[f"{library}_NUM_THREADS"] = "1"  # their threads would not be there after a fork
    streams.leave_to_ranks()
    loaded, failed = [], {}
    for name in ("torch", "torch.distributed", *names):
        try:
            importlib.import_module(name)
            loaded.append(name)
            if name == "torch":
                clocks.chance.torch_seed = sys.modules[name].initial_seed()
        except Exception as trouble:
            failed[name] = repr(trouble)
        if name == "torch.distributed" and name in loaded and sys.modules[name].is_available():
            from deadrank import c10d

            sys.modules["torch"].set_num_threads(1)
            c10d.install()  # before other modules take what it replaces
    hidden = imports.hidden_by(program)
    for name, words in imports.packages_of(program):
        if hidden and imports.brings_in(name, words, hidden):
            continue
        if imports.load(name, words, failed):
            loaded.append(name)
    return loaded, failed


HUGE = 2 << 20  # bytes of a huge page
COLLAPSE = 25  # MADV_COLLAPSE, since Linux 6.1
MANY = 32  # ranks, for which huge pages pay: they take 0.3 s here, and 15 ms of each fork and end


def join_pages():
    """A fork copies one entry for each page, and the child's end looks at each again: few huge pages are faster. What
    a child writes is copied in small pages all the same."""
    madvise = ctypes.CDLL(None).madvise
    madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
        places = [line.split(maxsplit=5) for line in file]
    for addresses, rights, *_, path in (place if len(place) == 6 else [*place, ""] for place in places):
        begin, end = (int(number, 16) for number in addresses.split("-"))
        begin, end = -(-begin // HUGE) * HUGE, end // HUGE * HUGE
        if rights == "rw-p" and path.strip() in ("", "[heap]") and begin < end:
            madvise(begin, end - begin, COLLAPSE)  # where it cannot, pages stay small


def leave_exits_to_the_zygote():
    """What modules do at exit to tear down what they made here: 30 ms of each rank, whose process is gone then."""
    for info in getattr(weakref.finalize, "_registry", {}).values():
        info.atexit = False
    dynamo = sys.modules.get("torch._dynamo.utils")
    if hasattr(dynamo, "dump_compile_times"):
        atexit.unregister(dynamo.dump_compile_times)


class Spares:
    """Children that are forked before their rank begins, so that the fork takes none of its time. They are forked
    at points of the order of messages, never when there is time: so the n-th one is the same in every run."""

    AHEAD = 2

    def __init__(self, own):
        self.own = own
        self.due = 0  # ranks that are still to begin
        self.joined = False
        self.waiting = deque()  # (pid, socket)

    def expect(self, count):
        self.due = count
        if count >= MANY and not self.joined:
            self.joined = True
            join_pages()
        while len(self.waiting) < min(self.AHEAD, self.due):
            self.fork()

    def begin(self, control, message, files):
        """The pid of a child that runs this message, which came over `control`."""
        if not self.waiting:
            self.fork()
        child, its_socket = self.waiting.popleft()
        self.own.children[child] = control
        socket.send_fds(its_socket, [message], files)
        its_socket.close()
        return child

    def began(self):
        self.due = max(0, self.due - 1)
        if len(self.waiting) < min(self.AHEAD, self.due):
            self.fork()

    def fork(self):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, LONGEST)
        child = os.fork()
        if child == 0:
            ours.close()
            for _, other in self.waiting:
                other.close()
            self.own.forget()
            launch.await_rank(theirs, LONGEST)
        theirs.close()
        self.own.children[child] = None
        self.waiting.append((child, ours))


class Own:
    """What the zygote has that its children must not: connections to simulations, and what it knows of children."""

    def __init__(self):
        self.controls = set()
        self.children = {}  # pid: the connection that it was started over; None: not begun yet
        self.forking = set()  # connections of copies whose ranks are still being copied
        self.unclaimed = {}  # pid: status, of children that no connection has named so far
        self.wake, self.woken = os.pipe()
        for end in (self.wake, self.woken):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(self.woken)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self.chosen = selectors.DefaultSelector()
        self.chosen.register(self.wake, selectors.EVENT_READ)

    def listen(self, control):
        self.controls.add(control)
        self.chosen.register(control, selectors.EVENT_READ)

    def listen_to_copy(self, file):
        """Another simulation will talk over this socket: a copy of one that is under way."""
        control = socket.socket(fileno=file)
        control.set_inheritable(False)
        self.listen(control)
        self.forking.add(control)
        tell(control, {"copying": True})

    def adopt(self, control, pids):
        """Ranks have copied themselves for this connection; their copies are children of this process."""
        self.forking.discard(control)
        for pid in pids:
            self.children[pid] = control
            if pid in self.unclaimed:
                self.end(pid, self.unclaimed.pop(pid))

    def end(self, child, status):
        control = self.children.pop(child)
        if control is not None:
            tell(control, {"ended": child, "status": status})

    def close(self, control):
        self.forking.discard(control)
        for child in [one for one, its in self.children.items() if its is control]:
            self.children[child] = None  # reap() finds it
            os.kill(child, signal.SIGKILL)
        self.chosen.unregister(control)
        self.controls.discard(control)
        control.close()

    def forget(self):
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self.chosen.close()
        for control in self.controls:
            control.close()
        os.close(self.wake)
        os.close(self.woken)


def serve(control):
    launch.adopt_orphans()
    own = Own()
    own.listen(control)
    spares = Spares(own)
    while True:
        for key, _ in own.chosen.select():
            if key.fd == own.wake:
                os.read(own.wake, 4096)
                reap(own)
            elif key.fileobj in own.controls:
                take(own, key.fileobj, spares)
                if control not in own.controls:
                    end_all()
                    os._exit(0)


def take(own, control, spares):
    message, files = receive(control)
    if not message:
        own.close(control)
    elif message.startswith(b"{"):
        said = json.loads(message)
        if "expect" in said:
            expect(spares, said["expect"])
        if "copy" in said:
            own.listen_to_copy(*files)
        if "adopt" in said:
            own.adopt(control, said["adopt"])
        if "examine" in said:
            examine(own, control, said)
    else:
        spawn(control, message, files, spares)


def receive(control):
    room = socket.CMSG_SPACE(4 * 4)
    try:
        message, ancillary, _, _ = control.recvmsg(LONGEST, room)
    except ConnectionResetError:
        return b"", []
    files = array.array("i")
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            files.frombytes(data[: len(data) - len(data) % files.itemsize])
    return message, list(files)


def expect(spares, count):
    try:
        spares.expect(count)
    except OSError:  # the rank that finds none is told
        pass


def spawn(control, message, files, spares):
    number = int(message[: message.index(b":")])
    said = message[message.index(b":") + 1 :]
    try:
        if len(files) != 4:
            raise OSError(0, f"{len(files)} file descriptors came, 4 are needed")
        child = spares.begin(control, said, files)
        tell(control, {"spawned": number, "pid": child})
    except OSError as trouble:
        tell(control, {"refused": number, "why": trouble.strerror})
    for file in files:
        os.close(file)
    try:
        spares.began()
    except OSError:
        pass


def examine(own, control, said):
    """A child, which is no rank, reads the files that a run has left (left.py)."""
    try:
        child = os.fork()
    except OSError as trouble:
        tell(control, {"refused": said["examine"], "why": trouble.strerror})
        return
    if child == 0:
        try:
            own.forget()
            silence = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silence, 1)
            os.dup2(silence, 2)
            if said["within"]:
                forks.enter(said["within"])
            from deadrank import left

            left.answer(said["request"])
        finally:
            os._exit(0)
    own.children[child] = control
    tell(control, {"spawned": said["examine"], "pid": child})


def reap(own):
    while True:
        try:
            child, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if child == 0:
            return
        if child in own.children:
            if not own.forking:
                end_orphans(own.children)
            own.end(child, status)
        elif own.forking:
            own.unclaimed[child] = status


def list_children():
    with open("/proc/thread-self/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


def end_orphans(children):
    """What a rank has started and put into a session of its own comes to the zygote when the rank is over."""
    for _ in range(100):  # an orphan's own children come when it is over
        orphans = [child for child in list_children() if child not in children]
        if not orphans:
            return
        for orphan in orphans:
            os.kill(orphan, signal.SIGKILL)
            os.waitpid(orphan, 0)


def end_all():
    for child in list_children():
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    end_orphans(())


def tell(control, said):
    try:
        control.send(json.dumps(said).encode())
    except (BrokenPipeError, ConnectionResetError):
        pass


if __name__ == "__main__":
    main()
