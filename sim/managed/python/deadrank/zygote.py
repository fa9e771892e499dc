# sim/managed/python/deadrank/zygote.py — A warm interpreter that has imported torch and forks one child for each
# rank: python -m deadrank.zygote --control FD [--hook DIRECTORY] [--program FILE]
# [--preload MODULE ...]
import os
import sys

from deadrank import clocks, frameworks, subprocesses, threads

subprocesses.install()
clocks.install()  # before anything else takes Python's own
threads.install()
frameworks.install()

import argparse
import array
import atexit
import gc
import importlib
import json
import platform
import selectors
import signal
import socket
import weakref
from collections import deque

from deadrank import imports, launch

LONGEST = 1 << 20
OBSERVERS = ("checkpoints", "data", "evidence", "groups", "later", "replicas", "training")


def main():
    arguments = read_arguments()
    fix_layout()
    control = socket.socket(fileno=arguments.control)
    control.set_inheritable(False)
    observers = []
    if arguments.hook:
        sys.path.append(arguments.hook)
        observers = [f"deadrank_hook.{name}" for name in OBSERVERS]
    if not sys.flags.safe_path:
        del sys.path[0]  # the directory in which the zygote was started: no program's
    loaded, failed = preload([*arguments.preload, *observers], imports.packages_of(arguments.program))
    subprocesses.install_pipes()
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


def read_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--control", type=int, required=True)
    parser.add_argument("--preload", nargs="*", action="extend", default=[])
    parser.add_argument("--program", default="", help="a script: the packages that it imports are imported once")
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


def preload(names, packages=()):
    """torch first. A module that cannot be imported is left to the program, which shows the trouble."""
    os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")  # the other check makes forked children fail
    for library in ("OMP", "OPENBLAS", "MKL"):
        os.environ[f"{library}_NUM_THREADS"] = "1"  # their threads would not be there after a fork
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
    for name, words in packages:
        if imports.load(name, words, failed):
            loaded.append(name)
    return loaded, failed


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

    def __init__(self, children, own):
        self.children, self.own = children, own
        self.due = 0  # ranks that are still to begin
        self.waiting = deque()  # (pid, socket)

    def expect(self, count):
        self.due = count
        while len(self.waiting) < min(self.AHEAD, self.due):
            self.fork()

    def begin(self, message, files):
        """The pid of a child that runs this message."""
        if not self.waiting:
            self.fork()
        child, its_socket = self.waiting.popleft()
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
            forget(*self.own)
            launch.await_rank(theirs, LONGEST)
        theirs.close()
        self.children.add(child)
        self.waiting.append((child, ours))


def serve(control):
    launch.adopt_orphans()
    wake, woken = os.pipe()
    for end in (wake, woken):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(woken)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    children = set()
    chosen = selectors.DefaultSelector()
    chosen.register(control, selectors.EVENT_READ)
    chosen.register(wake, selectors.EVENT_READ)
    spares = Spares(children, (control, (chosen, wake, woken)))
    while True:
        for key, _ in chosen.select():
            if key.fileobj is wake or key.fd == wake:
                os.read(wake, 4096)
                reap(control, children)
                continue
            message, files = receive(control)
            if not message:
                end_all()
                os._exit(0)
            if message.startswith(b"{\"expect"):
                expect(spares, json.loads(message)["expect"])
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
        child = spares.begin(said, files)
        tell(control, {"spawned": number, "pid": child})
    except OSError as trouble:
        tell(control, {"refused": number, "why": trouble.strerror})
    for file in files:
        os.close(file)
    try:
        spares.began()
    except OSError:
        pass


def forget(control, own):
    """What the child has of the zygote's."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    chosen, wake, woken = own
    chosen.close()
    control.close()
    os.close(wake)
    os.close(woken)


def reap(control, children):
    while True:
        try:
            child, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if child == 0:
            return
        if child in children:
            end_orphans(children)
            children.discard(child)
            tell(control, {"ended": child, "status": status})


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
