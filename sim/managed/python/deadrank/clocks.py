# sim/managed/python/deadrank/clocks.py — A rank's clocks show virtual time. Installed in the zygote before other
# modules are imported; without a channel each function is Python's own.
import ctypes
import datetime
import functools
import gc
import os
import random
import resource
import selectors
import sys
import time
import uuid
from hashlib import blake2b

from . import subprocesses
from .channel import here
from .threads import until

EPOCH = 1_700_000_000_000_000_000  # ns: what a rank's calendar shows at the job's start
READS = 256  # of a clock without a request in between: then the program spins, and time has to pass
SPIN = 10_000  # ns that each further read takes

real = {name: getattr(time, name) for name in dir(time)}


def now():
    """Virtual ns since the job's start."""
    channel = here.channel
    channel.clock_reads += 1
    if channel.clock_reads > READS:
        here.turns.sleep_until(channel.time() + SPIN)
        channel.clock_reads = READS
    return channel.clock()


def in_seconds(name, epoch=0):
    original = real[name]

    @functools.wraps(original)
    def clock():
        return original() if here.channel is None else (epoch + now()) / 1e9

    return clock


def in_nanoseconds(name, epoch=0):
    original = real[name]

    @functools.wraps(original)
    def clock():
        return original() if here.channel is None else epoch + now()

    return clock


@functools.wraps(time.sleep)
def sleep(seconds, /):
    if here.channel is None:
        real["sleep"](seconds)
        return
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")
    subprocesses.pause_really(int(seconds * 1e9))
    here.turns.sleep_until(until(seconds))


def with_default(name, place):
    """Functions that take the present if no time is given."""
    original = real[name]

    @functools.wraps(original)
    def of_time(*args):
        missing = len(args) <= place or (place == 0 and args[0] is None)
        if here.channel is None or not missing:
            return original(*args)
        present = (EPOCH + now()) / 1e9
        return original(*args[:place], present if place == 0 else real["localtime"](present))

    return of_time


def clock_gettime(clock, /):
    if here.channel is None:
        return real["clock_gettime"](clock)
    return (now() + (EPOCH if clock == time.CLOCK_REALTIME else 0)) / 1e9


def clock_gettime_ns(clock, /):
    if here.channel is None:
        return real["clock_gettime_ns"](clock)
    return now() + (EPOCH if clock == time.CLOCK_REALTIME else 0)


replaced = {
    "time": in_seconds("time", EPOCH),
    "time_ns": in_nanoseconds("time_ns", EPOCH),
    "sleep": sleep,
    "clock_gettime": clock_gettime,
    "clock_gettime_ns": clock_gettime_ns,
    **{name: with_default(name, 0) for name in ("localtime", "gmtime", "ctime")},
    **{name: with_default(name, place) for name, place in (("strftime", 1), ("asctime", 0))},
}
for clock_name in ("monotonic", "perf_counter", "process_time", "thread_time"):
    replaced[clock_name] = in_seconds(clock_name)
    replaced[clock_name + "_ns"] = in_nanoseconds(clock_name + "_ns")


def asctime(*args):
    if here.channel is None or args:
        return real["asctime"](*args)
    return real["asctime"](real["localtime"]((EPOCH + now()) / 1e9))


replaced["asctime"] = asctime

processor_times, resource_usage = os.times, resource.getrusage


@functools.wraps(os.times)
def times():
    if here.channel is None:
        return processor_times()
    present = now() / 1e9
    return os.times_result((present, 0.0, 0.0, 0.0, present))


@functools.wraps(resource.getrusage)
def getrusage(who, /):
    """Memory and counts are the process's; its times are the virtual clock, as those of time.process_time."""
    said = resource_usage(who)
    if here.channel is None:
        return said
    return resource.struct_rusage((now() / 1e9 if who != resource.RUSAGE_CHILDREN else 0.0, 0.0, *said[2:]))


class Builtin:
    """As a function written in C, it stays itself where a class has it as an attribute: logging's formatters
    keep time.localtime that way."""

    def __init__(self, name, function):
        self.__name__ = self.__qualname__ = name
        self.__module__ = "time"
        self.__doc__ = real[name].__doc__
        self.__wrapped__ = real[name]
        self.call = function

    def __call__(self, *args):
        return self.call(*args)

    def __reduce__(self):
        return self.__name__

    def __repr__(self):
        return f"<built-in function {self.__name__}>"


replaced = {name: Builtin(name, function) for name, function in replaced.items()}


def install():
    for name, function in replaced.items():
        setattr(time, name, function)
    os.times, resource.getrusage = times, getrusage
    replace_in_class(datetime.datetime, "now", datetime_now)
    replace_in_class(datetime.datetime, "utcnow", datetime_utcnow)
    for selector in ("SelectSelector", "PollSelector", "EpollSelector"):
        kind = getattr(selectors, selector, None)
        if kind is not None:
            kind.select = selected(kind.select)
    install_chance()


def rebind():
    """Modules that took functions before `install`, as `from time import monotonic` does."""
    old = {id(real[name]): function for name, function in replaced.items()}
    for name, module in list(sys.modules.items()):
        if name.startswith(f"{__package__}.") or name in ("time", "__main__"):
            continue
        words = getattr(module, "__dict__", None)
        if not isinstance(words, dict):
            continue
        for word, value in list(words.items()):
            if id(value) in old:
                words[word] = old[id(value)]


def replace_in_class(kind, name, function):
    """Classes written in C take no new attributes; a subclass in their place would not be what isinstance and
    pickle expect."""
    words = gc.get_referents(kind.__dict__)[0]
    function.real = words[name].__get__(None, kind)
    words[name] = classmethod(function)
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))


def datetime_now(cls, tz=None):
    if here.channel is None:
        present = real["time_ns"]()
    else:
        present = EPOCH + now()
    whole = cls.fromtimestamp(present // 1_000_000_000, tz)
    return whole.replace(microsecond=present // 1000 % 1_000_000)


def datetime_utcnow(cls):
    return datetime_now(cls, datetime.timezone.utc).replace(tzinfo=None)


def selected(original):
    @functools.wraps(original)
    def select(self, timeout=None):
        turns = here.turns
        if turns is None:
            return original(self, timeout)
        found = original(self, 0)
        if found or (timeout is not None and timeout <= 0):
            return found

        def look(seconds):
            found[:] = original(self, seconds)
            return found

        subprocesses.wait_outside(look, timeout)
        return found

    return select


# Chance


class Chance:
    """The bytes that os.urandom gives a rank: the same in every run of a plan, others on every rank."""

    key = b""
    drawn = 0
    torch_seed = None  # before the zygote's modules were imported


chance = Chance()
urandom = os.urandom


def drawn_bytes(size, /):
    if here.channel is None:
        return urandom(size)
    given = b""
    while len(given) < size:
        chance.drawn += 1
        given += blake2b(chance.drawn.to_bytes(8, "little"), key=chance.key).digest()
    return given[:size]


def install_chance():
    os.urandom = random._urandom = drawn_bytes
    uuid._generate_time_safe = uuid._UuidCreate = None
    uuid._node = 0x0242AC110002
    seed = random.Random.seed

    @functools.wraps(seed)
    def seeded(self, a=None, version=2):
        if a is None and here.channel is not None:
            a = int.from_bytes(drawn_bytes(32), "little")
        seed(self, a, version)

    random.Random.seed = seeded
    random.seed = random._inst.seed


def seed_all(seed, process):
    """Each rank draws other numbers, as unseeded processes do."""
    chance.key = blake2b(f"{seed}/{process}".encode(), digest_size=32).digest()
    chance.drawn = 0
    random.seed()
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(int.from_bytes(drawn_bytes(4), "little"))
    torch = sys.modules.get("torch")
    if torch is not None and chance.torch_seed in (None, torch.initial_seed()):  # no module seeds it on import
        torch.default_generator.manual_seed(int.from_bytes(drawn_bytes(7), "little"))
