# sim/managed/python/deadrank/launch.py — From a fork of the zygote to the end of a rank's program, which runs as
# `__main__`, as the interpreter itself would run it.
import atexit
import ctypes
import faulthandler
import functools
import io
import json
import linecache
import logging
import os
import runpy
import signal
import socket
import sys
import tempfile
import threading
import traceback
import types
import typing

from . import channel as wire
from . import clocks, files, forks, patches, threads
from .channel import Channel, here

FIRST_NUMBER = 1000
SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER
NO_GPU = (  # torch's texts, 2.4 to 2.15
    "Found no NVIDIA driver on your system",
    "Torch not compiled with CUDA enabled",
    "No CUDA GPUs are available",
)
REFUSES = "deadrank: "  # begins the text of each error that says what deadrank cannot do
OURS = os.path.dirname(os.path.abspath(__file__))


def await_rank(control, longest):
    """In a fork of the zygote: which rank it is comes with the four files of that rank. Never returns."""
    ctypes.CDLL(None).prctl(*forks.KILL, 0, 0, 0)
    adopt_orphans()
    os.setpgid(0, 0)  # what the program starts ends with the rank
    message, files, _, _ = socket.recv_fds(control, longest, 4)
    control.close()
    if not message:
        os._exit(0)
    run(json.loads(message), *files)


def adopt_orphans():
    """A daemon that a rank starts stays below the rank while that lives, and goes to the zygote with it."""
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)


def run(spawn, channel, out, err, arena):
    """Never returns."""
    redirect(out, err)
    ending = Ending(1)
    try:
        prepare(spawn, channel, arena)
        here.channel.wait_for_go()
        ending = run_program(with_local_rank(spawn["argv"]))
    except BaseException as trouble:  # ours: the program's are caught where it runs
        traceback.print_exc()
        ending = Ending(1, repr(trouble), f"internal error: {trouble!r}")
    finally:
        end(*ending)


def with_local_rank(argv):
    """DeepSpeed's launcher and torch.distributed.launch pass it behind the script's name."""
    name = here.options.get("local_rank_argument")
    if not name:
        return argv
    behind = 2 if argv[0] == "-m" else 1
    return [*argv[:behind], f"{name}={os.environ['LOCAL_RANK']}", *argv[behind:]]


def redirect(out, err):
    for file, number in ((out, 1), (err, 2)):
        os.dup2(file, number)
        os.close(file)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)


def prepare(spawn, channel, arena):
    here.options = {"process": spawn["process"], "seed": spawn["seed"], **(spawn.get("options") or {})}
    os.environ.clear()
    os.environ.update(spawn["environment"])
    keep_files()
    if "within" in here.options:
        forks.enter(here.options["within"])
    os.chdir(spawn["cwd"])
    for one in reversed(os.environ.get("PYTHONPATH", "").split(os.pathsep)):
        if one and one not in sys.path:
            sys.path.insert(1, one)
    forks.note_inherited()
    here.channel = open_channel(channel, arena)
    here.fork, here.enter, here.debug = forks.fork, forks.enter, debug
    order = here.options.get("order_seed")
    here.turns = threads.Turns(here.channel, None if order is None else threads.Orders(order, spawn["process"]))
    files.begin()
    here.channel.stack = show_stack
    if here.options.get("tell_lines"):
        here.channel.line = show_line
    clocks.seed_all(spawn["seed"], spawn["process"])
    keep_signals_for_later()
    show_stacks_on_signal()
    number_log_records(spawn["process"])
    if "torch" in sys.modules:
        from . import c10d, observers, spawned, streams

        c10d.begin()
        spawned.prepare()
        observers.begin(here.options)
        streams.begin()


def debug(channel, said):
    from . import debugger

    debugger.begin(channel, said)


def keep_files():
    """The library that copies files before they are changed, and Python's directory of temporary files, were set
    up in the zygote."""
    tempfile.tempdir = None
    try:
        ctypes.CDLL(None).deadrank_keep_begin()
        lock = here.options.get("copies") if "within" not in here.options else None
        forks.await_copies_before_changes(lock)
    except AttributeError:  # it is not loaded: what the program writes stays
        pass


def open_channel(channel, arena):
    if "torch" in sys.modules:
        from . import devices

        found = devices.find()
        if found is not None:
            devices.run_backward_here()
            return devices.DeviceChannel(channel, arena, found)
    return Channel(channel, arena)


def keep_signals_for_later():
    """A handler runs when the call that the rank is in returns, as it does while torch waits in C++."""
    real = signal.signal

    def install_handler(number, handler):
        before = real(number, handler)
        if callable(handler):
            signal.siginterrupt(number, False)
        if here.channel is not None:
            here.channel.tell(wire.KEEP_SIGNAL, number=int(number), keep=handler is not signal.SIG_DFL)
        return before

    signal.signal = install_handler
    signal.siginterrupt(signal.SIGINT, False)
    for module, name in ((os, "kill"), (os, "killpg"), (signal, "raise_signal")):
        setattr(module, name, announced(getattr(module, name)))


def show_stacks_on_signal():
    """The simulator asks for them where the rank does not answer (`Channel::print_stacks`)."""
    faulthandler.register(signal.SIGRTMAX - 1, file=2, all_threads=True)


def announced(real):
    """A signal that the program sends itself is no failure of this machine."""

    @functools.wraps(real)
    def send(*args):
        if here.channel is not None and args and int(args[-1]) > 0:
            here.channel.tell(wire.KEEP_SIGNAL, number=int(args[-1]), sent=True)
        return real(*args)

    return send


def number_log_records(process):
    """A process has another number in every run; log lines show it."""
    real = logging.getLogRecordFactory()

    def make(*args, **said):
        record = real(*args, **said)
        if here.channel is not None:
            record.process = FIRST_NUMBER + process
        return record

    logging.setLogRecordFactory(make)


# The program


class Ending(typing.NamedTuple):
    code: int
    error: str = ""  # the last line of the traceback
    limit: str = ""  # what deadrank cannot do and the program needs


def run_program(argv):
    try:
        execute(argv)
        threads.join_all()
        return Ending(0)
    except SystemExit as trouble:
        return Ending(code_of(trouble))
    except BaseException as trouble:
        return report(trouble)


def execute(argv):
    main = types.ModuleType("__main__")
    main.__dict__.update(__builtins__=sys.modules["builtins"], __spec__=None, __annotations__={})
    sys.modules["__main__"] = main
    kind = argv[0]
    if kind == "-m":
        sys.argv = list(argv[1:])
        sys.path.insert(0, os.getcwd())
        runpy._run_module_as_main(argv[1])
    elif kind == "-c":
        sys.argv = ["-c", *argv[2:]]
        sys.path.insert(0, "")
        exec(compile(argv[1], "<string>", "exec"), main.__dict__)
    else:
        sys.argv = list(argv)
        execute_file(kind, main)


def execute_file(path, main):
    if os.path.isdir(path) or path.endswith((".zip", ".pyz")):
        sys.path.insert(0, path)
        runpy._run_module_as_main("__main__", alter_argv=False)
        return
    sys.path.insert(0, os.path.dirname(os.path.realpath(path)))
    main.__file__ = os.path.abspath(path)
    main.__cached__ = None
    source = here.options.get("source")
    with io.open_code(source or path) as file:
        text = file.read()
    if source is not None:  # tracebacks show the lines that run
        lines = text.decode().splitlines(keepends=True)
        linecache.cache[path] = (len(text), None, lines, path)
    if source is not None or patches.texts:
        sys.excepthook = traceback.print_exception  # the interpreter's own reads lines from the file beside it
    exec(compile(text, path, "exec"), main.__dict__)


def code_of(trouble):
    if trouble.code is None:
        return 0
    if isinstance(trouble.code, int):
        return trouble.code & 0xFF
    print(trouble.code, file=sys.stderr)
    return 1


def report(trouble):
    """Prints the traceback as the interpreter does, without frames of deadrank."""
    hide_frames(trouble)
    try:
        sys.excepthook(type(trouble), trouble, trouble.__traceback__)
    except BaseException:
        traceback.print_exception(trouble)
    last = traceback.format_exception_only(type(trouble), trouble)[-1].strip()
    if any(text in last for text in NO_GPU) and here.options["process"] == 0:
        print("deadrank: --gpus N gives each node N simulated GPUs", file=sys.stderr)
    return Ending(130 if isinstance(trouble, KeyboardInterrupt) else 1, last[:1000], limit_behind(trouble))


def limit_behind(trouble):
    """The first line of the error with which deadrank refused what the program asked for, and of which this one is
    the consequence; or nothing."""
    for one in chain(trouble):
        text = str(one)
        if text.startswith(REFUSES):
            return text[len(REFUSES) :].partition("\n")[0]
    return ""


def chain(trouble):
    """The error, and those that led to it."""
    seen = set()
    while trouble is not None and id(trouble) not in seen:
        seen.add(id(trouble))
        yield trouble
        trouble = trouble.__cause__ or trouble.__context__


def hide_frames(trouble):
    """An error that the simulator answers looks as if torch's C++ had raised it; the frames of a mistake in
    deadrank itself stay."""
    for error in chain(trouble):
        kept, frames = [], error.__traceback__
        while frames is not None:
            kept.append(frames)
            frames = frames.tb_next
        last = kept[-1:] if not hasattr(error, "deadrank_work") else []
        kept = [one for one in kept if one in last or not is_ours(one.tb_frame.f_code.co_filename)]
        for one, following in zip(kept, [*kept[1:], None]):
            one.tb_next = following
        error.__traceback__ = kept[0] if kept else None


def is_ours(name):
    return name.startswith((OURS, "<frozen runpy")) or "/deadrank_hook/" in name


def end(code, error, limit):
    try:
        if here.turns is not None and (code or error):
            threads.join_all()
        atexit._run_exitfuncs()
    except BaseException as trouble:
        if not isinstance(trouble, SystemExit):
            traceback.print_exc()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            code = code or 120  # as the interpreter
    if here.channel is not None:
        here.channel.closing = True
        here.channel.tell(wire.EXIT, code=code, error=error, refused=refused_file(), limit=limit)
    os._exit(code)


def refused_file():
    """What this machine, and no fault, refused to keep of what the program wrote: "No space left on device: /tmp/x"."""
    try:
        find = ctypes.CDLL(None).deadrank_refused
    except AttributeError:  # the library below libc is not loaded
        return ""
    path = ctypes.create_string_buffer(512)
    number = find(path, ctypes.c_ulong(len(path)))
    return f"{os.strerror(number)}: {os.fsdecode(path.value)}" if number else ""


# Where the program waits


def show_stack():
    frame = here.turns.frame()
    shown = []
    while frame is not None:
        name = frame.f_code.co_filename
        if is_users(name):
            line = linecache.getline(name, frame.f_lineno).strip()
            shown.append([name, frame.f_lineno, frame.f_code.co_name, line])
        frame = frame.f_back
    return shown[::-1]


def show_line():
    """The innermost line of the program's own files that this thread is at. A thread of a library has none: its name."""
    frame = sys._getframe()
    while frame is not None:
        name = frame.f_code.co_filename
        if is_users(name) and "site-packages" not in name:
            return f"{os.path.basename(name)}:{frame.f_lineno} {linecache.getline(name, frame.f_lineno).strip()}".strip()
        frame = frame.f_back
    thread = threading.current_thread()
    return "" if thread is threading.main_thread() else f"thread {thread.name}"


def is_users(name):
    """Neither Python's own library, nor torch, nor deadrank and its hook."""
    if name.startswith(("<frozen", OURS, torch_folder())) or "/deadrank_hook/" in name:
        return False
    return "site-packages" in name or not name.startswith(LIBRARY)


def torch_folder():
    torch = sys.modules.get("torch")
    return os.path.dirname(torch.__file__) + os.sep if torch is not None else OURS


LIBRARY = os.path.dirname(os.__file__) + os.sep
