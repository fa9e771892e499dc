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
import gc
import importlib
import json
import platform
import selectors
import signal
import socket

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


def serve(control):
    wake, woken = os.pipe()
    for end in (wake, woken):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(woken)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    children = set()
    chosen = selectors.DefaultSelector()
    chosen.register(control, selectors.EVENT_READ)
    chosen.register(wake, selectors.EVENT_READ)
    while True:
        for key, _ in chosen.select():
            if key.fileobj is wake or key.fd == wake:
                os.read(wake, 4096)
                reap(control, children)
                continue
            message, files = receive(control)
            if not message:
                for child in children:
                    os.kill(child, signal.SIGKILL)
                os._exit(0)
            spawn(control, json.loads(message)["spawn"], files, children, (chosen, wake, woken))


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


def spawn(control, said, files, children, own):
    if len(files) != 4:
        for file in files:
            os.close(file)
        tell(control, {"refused": said["id"], "why": f"{len(files)} file descriptors came, 4 are needed"})
        return
    try:
        child = os.fork()
    except OSError as trouble:
        child = -1
        tell(control, {"refused": said["id"], "why": f"fork: {trouble.strerror}"})
    if child == 0:
        forget(control, own)
        launch.run(said, *files)
    for file in files:
        os.close(file)
    if child > 0:
        children.add(child)
        tell(control, {"spawned": said["id"], "pid": child})


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
    while children:
        try:
            child, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if child == 0:
            return
        children.discard(child)
        tell(control, {"ended": child, "status": status})


def tell(control, said):
    try:
        control.send(json.dumps(said).encode())
    except (BrokenPipeError, ConnectionResetError):
        pass


if __name__ == "__main__":
    main()
