# sim/managed/python/deadrank/subprocesses.py — Processes that a rank starts (workers of a data loader, shells) run
# in real time, with real clocks and locks, and take no virtual time. A thread that waits for one of them lets the
# rank's other threads go on.
import ctypes
import functools
import os
import select
import signal
import subprocess
import time
from multiprocessing import util

from .channel import NEVER, here

SHORT, LONG, FOREVER = 0.02, 2.0, 3600.0  # seconds
COMPUTING = 60.0  # seconds for which a child that computes is waited for beyond that
IDLE = 0.5  # seconds after which a child that used no processor is taken to wait: its files may come from a slow disk
PAUSE = 0.001
PR_SET_PDEATHSIG = 1

monotonic = time.monotonic
real_open = open
real_waitpid = os.waitpid


class Children:
    """`busy`: whether something may still come from one of them. It stays so until a wait was in vain. `ticks`: of the
    processor that each process had used when it was last asked."""

    started = 0
    busy = False
    ticks = {}


children = Children()


def patience(simulated, timed):
    """Real seconds for which threads wait for other processes before the simulator is asked. `simulated`: some
    thread waits for what the simulator decides; `timed`: some thread has a time-out."""
    if not children.started:
        return 0.0
    if not simulated:
        return LONG if timed else FOREVER
    was, children.busy = children.busy, False
    return SHORT if was else 0.0


def compute():
    """Whether a process that this one started, or one of theirs, is runnable, reads a disk, or has used the processor
    since this was last asked: a child that is spawned imports torch for seconds."""
    before, children.ticks = children.ticks, {}
    works = False
    for process, (state, ticks) in descendants().items():
        children.ticks[process] = ticks
        works |= state in "RD"
    return works or children.ticks != before


def descendants():
    """State and ticks of the processor of each, by process: proc(5)."""
    found, parents = {}, {}
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            with real_open(f"/proc/{process}/stat") as file:
                state, parent, *fields = file.read().rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        found[process], parents[process] = (state, fields[9:11]), parent
    own, generation = {}, {str(os.getpid())}
    while generation:
        generation = {process for process, parent in parents.items() if parent in generation}
        own.update((process, found[process]) for process in generation)
    return own


def heard():
    children.busy = True


def wait_outside(look, timeout=None):
    """Waits until look(seconds) finds something outside of the simulation, at most so many seconds."""
    from .threads import until

    turns = here.turns
    if look(0):
        return True
    actor = turns.running
    if turns.alone and (timeout is None or children.started):
        end = FOREVER if timeout is None else timeout
        end += monotonic()
        while not look(max(0.0, min(0.5, end - monotonic()))):
            if monotonic() >= end:
                turns.sleep_until(until(timeout))
                return False
        return True
    if turns.alone:
        turns.sleep_until(until(timeout))
        return look(0)
    actor.outside = look
    try:
        turns.pause(actor, NEVER if timeout is None else until(timeout))
    finally:
        actor.outside = None
    return look(0)


def readable(file, seconds):
    return bool(select_real([file], [], [], seconds)[0])


select_real = select.select


def leave_simulation():
    """In a child that was forked by a rank: it must not use the rank's channel."""
    channel = here.channel
    if channel is None:
        return
    here.channel = here.turns = here.file_turn = None
    here.orphan = True
    os.close(channel.socket.detach())
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def take_turn():
    """Before a child begins, which may use files at once."""
    if here.file_turn is not None:
        here.file_turn.take("")


def started():
    if here.channel is not None:
        children.started += 1
        children.busy = True


def waitpid(process, options, /):
    turns = here.turns
    if turns is None or options & os.WNOHANG:
        return real_waitpid(process, options)
    found = []

    def look(seconds):
        """waitpid removes the child that it reports: a second call would raise ChildProcessError."""
        if not any(found):
            found[:] = real_waitpid(process, options | os.WNOHANG)
        if not found[0] and seconds:
            real_sleep(min(seconds, PAUSE))
            found[:] = real_waitpid(process, options | os.WNOHANG)
        return found[0]

    wait_outside(look)
    return tuple(found)


real_sleep = time.sleep


def are_left():
    """Whether a child of this process runs."""
    if not children.started:
        return False
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def pause_really(nanoseconds):
    """A rank that sleeps may be waiting for its child, which needs real time."""
    if are_left():
        real_sleep(min(nanoseconds / 1e9, PAUSE))


def waited(real):
    """`Popen._wait`: without a time-out it asks os.waitpid; with one it sleeps and looks again, for which a
    child would need virtual time."""

    @functools.wraps(real)
    def wait(self, timeout):
        if here.turns is None or timeout is None or self.returncode is not None:
            return real(self, timeout)

        def look(seconds):
            if self._internal_poll() is None and seconds:
                real_sleep(min(seconds, PAUSE))
            return self._internal_poll() is not None

        if not wait_outside(look, timeout):
            raise subprocess.TimeoutExpired(self.args, timeout)
        return self.returncode

    return wait


def install():
    """In the zygote, before the clocks: these functions stay real."""
    os.register_at_fork(before=take_turn, after_in_parent=started, after_in_child=leave_simulation)
    os.waitpid = waitpid
    subprocess.Popen._wait = waited(subprocess.Popen._wait)
    subprocess.Popen.__init__ = counted(subprocess.Popen.__init__)
    util.spawnv_passfds = counted(util.spawnv_passfds)  # children of multiprocessing that are spawned


def counted(begin):
    @functools.wraps(begin)
    def begin_child(*args, **said):
        take_turn()
        made = begin(*args, **said)
        started()
        return made

    return begin_child


def install_pipes(connection):
    """`connection`: of multiprocessing, or of multiprocess, which `datasets` uses."""
    kind = connection.Connection
    receive = kind._recv

    @functools.wraps(receive)
    def _recv(self, *args, **said):
        if here.turns is not None:
            wait_outside(lambda seconds: readable(self._handle, seconds))
        return receive(self, *args, **said)

    @functools.wraps(kind._send)
    def _send(self, *args, send=kind._send, **said):
        send(self, *args, **said)
        children.busy = True

    kind._recv, kind._send = _recv, _send


def install_semaphores(synchronize):
    """Locks, conditions and queues of multiprocessing, or of multiprocess. A thread that waits for one lets the other
    threads of the rank run: a queue's feeder is such a thread, and without it the child gets nothing."""
    kind = synchronize.SemLock
    make = kind._make_methods

    @functools.wraps(make)
    def _make_methods(self):
        make(self)
        self.acquire = acquired(self._semlock)

    kind._make_methods = _make_methods
    kind.__enter__ = lambda self: self.acquire()


def acquired(semaphore):
    """Another thread may look whether it is free; only its own may take it, since that thread then owns it."""

    def look(seconds):
        if semaphore._is_zero() and seconds:
            real_sleep(min(seconds, PAUSE))
        return not semaphore._is_zero()

    def acquire(block=True, timeout=None):
        if here.turns is None:
            return semaphore.acquire(block, timeout)
        if semaphore.acquire(False):
            return True
        end = NEVER if timeout is None else here.channel.time() + int(max(0, timeout) * 1e9)
        while block:
            left = None if timeout is None else max(0, end - here.channel.time()) / 1e9
            if not wait_outside(look, left):
                return False
            if semaphore.acquire(False):
                return True
        return False

    return acquire
