# sim/managed/python/deadrank/threads.py — The threads of a rank take turns: one runs until it waits for something
# that the simulator or another thread decides. When all of them wait, one request to the simulator waits for
# whatever comes first. The order is the order in which they began to wait, so that a seed gives one run; with an order
# seed it is drawn (Orders).
import _thread
import functools
import queue
import random
import sys
import threading
from collections import deque

from . import subprocesses
from .channel import NEVER, POLL, here

allocate_real = _thread.allocate_lock
RealRLock = _thread.RLock
start_real = _thread.start_new_thread


class Actor:
    """A thread. `turn` is held unless it is this thread's turn."""

    __slots__ = ("turn", "thread", "works", "deadline", "woken", "sleeps", "ended", "joiners", "outside")

    def __init__(self, thread=None):
        self.turn = allocate_real()
        self.turn.acquire()
        self.thread = thread
        self.works = ()  # not done yet, of those that it waits for
        self.deadline = NEVER
        self.woken = False
        self.sleeps = False
        self.ended = False
        self.joiners = []
        self.outside = None  # a function that waits for something outside of the simulation

    def acquire_turn(self):
        self.turn.acquire()
        if here.file_turn is not None:
            here.file_turn.pass_to_this_thread()


class Orders:
    """Draws an order of a rank's threads that an operating system may choose as well: which of those that can run goes
    on at a call, and how late a new one begins."""

    LATEST_START = 0.1  # s of virtual time

    def __init__(self, seed, process):
        self.random = random.Random(f"{seed}/{process}")

    def take_from(self, ready):
        at = self.random.randrange(len(ready))
        actor = ready[at]
        del ready[at]
        return actor

    def late_start(self):
        """ns. Half of the threads begin at once; the others at any order of magnitude."""
        if self.random.random() < 0.5:
            return 0
        return int(1e9 * self.LATEST_START * 10 ** -self.random.uniform(0, 6))


class Turns:
    def __init__(self, channel, orders=None):
        self.channel = channel
        self.orders = orders  # None: the usual order
        self.main = self.running = Actor(threading.main_thread())
        self.ready = deque()
        self.waiting = {}  # actors, in the order in which they began to wait
        self.sources = {}  # work → source rank, of works that are done and not asked for yet
        self.failed = {}  # work → the exception
        self.alone = True  # no second thread was ever started

    # What threads wait for

    def wait_for_works(self, works, deadline=NEVER):
        """Returns the sources of those works, or None if the deadline came first."""
        left = [work for work in works if work not in self.sources and work not in self.failed]
        if left and self.alone:
            self.note(left, self.channel.wait(left, deadline))
        elif left:
            actor = self.running
            actor.works = set(left)
            self.pause(actor, deadline)
            actor.works = ()
        for work in works:
            if work in self.failed:
                for one in works:
                    self.sources.pop(one, None)
                raise self.failed.pop(work)
        if any(work not in self.sources for work in works):
            return None
        return [self.sources.pop(work) for work in works]

    def poll(self, works):
        """True if all of them are done. Those that are done stay to be waited for."""
        left = [work for work in works if work not in self.sources and work not in self.failed]
        if left:
            try:
                states = self.channel.wait(left, kind=POLL)
            except Exception as trouble:
                if getattr(trouble, "deadrank_work", None) is None:
                    raise
                self.failed[trouble.deadrank_work] = trouble
                return True
            self.note(left, states)
            if not all(done for done, _ in states):
                self.yield_turn()
        return all(work in self.sources or work in self.failed for work in works)

    def sleep_until(self, deadline):
        if self.alone:
            while self.channel.now < deadline:  # a signal may cut it short
                self.channel.wait((), deadline)
            return
        actor = self.running
        actor.sleeps = True
        while self.channel.now < deadline:
            self.pause(actor, deadline)
        actor.sleeps = False

    def pause(self, actor, deadline=NEVER):
        """This thread waits until another one wakes it, its works are done, or the deadline comes. Returns
        True if it was woken."""
        actor.deadline, actor.woken = deadline, False
        self.waiting[actor] = True
        self.switch(actor)
        return actor.woken

    def wake(self, actor):
        if self.waiting.pop(actor, False):
            actor.woken = True
            self.ready.append(actor)

    def yield_turn(self):
        """Other threads that can run go first."""
        if self.ready:
            self.ready.append(self.running)
            self.switch(self.running)

    # Turns

    def switch(self, actor):
        following = self.next()
        if following is actor:
            return
        self.running = following
        following.turn.release()
        if not actor.ended:
            actor.acquire_turn()

    def next(self):
        while not self.ready:
            self.ask()
        return self.orders.take_from(self.ready) if self.orders else self.ready.popleft()

    def before_call(self):
        """The running thread is about to call: an operating system may run any other one now."""
        if self.orders and not self.alone:
            self.yield_turn()

    def start_late(self):
        """The running thread is about to begin its work."""
        late = self.orders.late_start() if self.orders else 0
        if late:
            self.sleep_until(self.channel.now + late)

    def ask(self):
        """All threads wait. Asks the simulator for what comes first."""
        if any(actor.outside for actor in self.waiting):
            if self.look_outside():
                return
        asked = {work for actor in self.waiting for work in actor.works}
        works = sorted(asked.difference(self.sources, self.failed))  # what is done is retired
        deadlines = [actor.deadline for actor in self.waiting if actor.deadline != NEVER]
        try:
            states = self.channel.wait(works, min(deadlines, default=NEVER), any_of=True)
            self.note(works, states)
        except Exception as trouble:
            self.fail(trouble)
        now = self.channel.now
        for actor in list(self.waiting):
            done = actor.works and all(work in self.sources or work in self.failed for work in actor.works)
            failed = any(work in self.failed for work in actor.works)
            if done or failed or NEVER != actor.deadline <= now:
                del self.waiting[actor]
                self.ready.append(actor)

    def note(self, works, states):
        for work, (done, source) in zip(works, states):
            if done:
                self.sources[work] = source

    def fail(self, trouble):
        work = getattr(trouble, "deadrank_work", None)
        if work is None:  # it is not said which: the thread that has waited longest
            actor = next((actor for actor in self.waiting if actor.works), None)
            if actor is None:
                raise trouble
            work = min(actor.works)
        self.failed[work] = trouble

    def look_outside(self):
        """True if something came for a thread that waits for another process."""
        waits = [actor for actor in self.waiting if actor.outside]
        simulated = any(actor.works or actor.sleeps for actor in self.waiting)
        timed = any(actor.deadline != NEVER for actor in self.waiting)
        patience = subprocesses.patience(simulated, timed)
        end = subprocesses.monotonic() + patience
        latest = end if simulated else end + subprocesses.COMPUTING
        while True:
            for actor in waits:
                if found_outside(actor):
                    self.wake(actor)
                    subprocesses.heard()
                    return True
            now = subprocesses.monotonic()
            if now >= end:
                if now >= latest or not subprocesses.compute():
                    return False
                end = now + subprocesses.IDLE
            found_outside(waits[0], 0.001)

    # Threads come and go

    def begin(self, thread):
        self.alone = False
        actor = Actor(thread)
        self.ready.append(actor)
        return actor

    def end(self, actor):
        actor.ended = True
        for joiner in actor.joiners:
            self.wake(joiner)
        self.switch(actor)

    def join(self, actor, deadline=NEVER):
        """True if that thread has ended."""
        while not actor.ended:
            actor.joiners.append(self.running)
            woken = self.pause(self.running, deadline)
            if not woken and not actor.ended:
                actor.joiners.remove(self.running)
                return False
        return True

    def frame(self):
        """The frame in which the program waits: of the main thread, unless another one waits for calls."""
        actor = next((actor for actor in self.waiting if actor.works), self.main)
        thread = actor.thread
        return sys._current_frames().get(thread.ident if thread else threading.get_ident())


def found_outside(actor, seconds=0):
    """An error belongs to the thread that waits: it asks again and raises it."""
    try:
        return actor.outside(seconds)
    except Exception:
        return True


def until(seconds):
    """The virtual deadline of a wait of so many seconds; None and negative: no deadline. Less than a nanosecond takes
    one: a loop that waits for the rest of its time would see the clock stand still."""
    if seconds is None or seconds < 0:
        return NEVER
    return here.channel.time() + (int(seconds * 1e9) or (1 if seconds else 0))


class Waitable:
    """A lock of Python's, of which only the blocking is replaced: its state stays in the real one, so that
    it is right before the rank begins and in the rank's children too."""

    __slots__ = ("real", "waiters", "__weakref__")

    def acquire(self, blocking=True, timeout=-1):
        if self.real.acquire(False):
            return True
        turns = here.turns
        if turns is None:
            return self.real.acquire(blocking, timeout)
        if not blocking:
            if timeout != -1:
                raise ValueError("can't specify a timeout for a non-blocking call")
            turns.yield_turn()  # a loop that tries again must not keep the owner from its turn
            return self.real.acquire(False)
        return self.wait(turns, until(timeout))

    __enter__ = acquire

    def wait(self, turns, deadline):
        while True:
            actor = turns.running
            self.waiters.append(actor)
            woken = turns.pause(actor, deadline)
            if not woken and actor in self.waiters:
                self.waiters.remove(actor)
            if self.real.acquire(False):
                return True
            if not woken:
                return False

    def release(self):
        self.real.release()
        if self.waiters and here.turns is not None:
            here.turns.wake(self.waiters.pop(0))

    def __exit__(self, *_):
        self.release()

    def _at_fork_reinit(self):
        self.real._at_fork_reinit()
        self.waiters = []

    def __repr__(self):
        return repr(self.real)


class Lock(Waitable):
    __slots__ = ()

    def __init__(self):
        self.real = allocate_real()
        self.waiters = []

    def locked(self):
        return self.real.locked()

    acquire_lock, release_lock, locked_lock = Waitable.acquire, Waitable.release, locked


class RLock(Waitable):
    __slots__ = ()

    def __init__(self):
        self.real = RealRLock()
        self.waiters = []

    def _is_owned(self):
        return self.real._is_owned()

    def _release_save(self):
        state = self.real._release_save()
        if self.waiters and here.turns is not None:
            here.turns.wake(self.waiters.pop(0))
        return state

    def _acquire_restore(self, state):
        self.acquire()
        self.real.release()
        self.real._acquire_restore(state)

    def _recursion_count(self):
        return self.real._recursion_count()


def install():
    """In the zygote, before anything else makes locks."""
    threading.Lock = threading._allocate_lock = threading._CRLock = Lock
    threading._CRLock = RLock
    queue.SimpleQueue = queue._PySimpleQueue
    _thread.start_new_thread = start_new_thread
    thread = threading.Thread
    thread.start = started(thread.start)
    thread._bootstrap_inner = bootstrapped(thread._bootstrap_inner)
    thread.join = joined(thread.join)
    thread.is_alive = alive(thread.is_alive)


def started(real):
    @functools.wraps(real)
    def start(self):
        turns = here.turns
        if turns is None or getattr(self, "_deadrank_actor", None) is not None:
            real(self)
            return
        self._deadrank_actor = actor = turns.begin(self)
        if turns.orders:
            self.run = late(turns, self.run)
        try:
            real(self)
        except BaseException:
            self._deadrank_actor = None
            turns.ready.remove(actor)
            raise

    return start


def late(turns, run):
    def run_late():
        turns.start_late()
        run()

    return run_late


def bootstrapped(real):
    @functools.wraps(real)
    def bootstrap(self):
        actor = getattr(self, "_deadrank_actor", None)
        if actor is None or here.turns is None:
            real(self)
            return
        actor.acquire_turn()
        try:
            real(self)
        finally:
            here.turns.end(actor)

    return bootstrap


def joined(real):
    @functools.wraps(real)
    def join(self, timeout=None):
        actor, turns = getattr(self, "_deadrank_actor", None), here.turns
        if actor is None or turns is None or self is threading.current_thread():
            real(self, timeout)
        elif turns.join(actor, NEVER if timeout is None else until(max(0, timeout))):
            real(self)  # what is left of it ends by itself

    return join


def alive(real):
    @functools.wraps(real)
    def is_alive(self):
        actor = getattr(self, "_deadrank_actor", None)
        if actor is None or here.turns is None:
            return real(self)
        return self._started.is_set() and not actor.ended

    return is_alive


def start_new_thread(function, args, kwargs=None, /):
    turns = here.turns
    if turns is None:
        return start_real(function, args, kwargs or {})
    actor = turns.begin(None)

    def run():
        actor.acquire_turn()
        turns.start_late()
        try:
            function(*args, **(kwargs or {}))
        finally:
            turns.end(actor)

    return start_real(run, ())


def join_all():
    """At the program's end: as threading._shutdown does."""
    turns = here.turns
    for call in reversed(getattr(threading, "_threading_atexits", [])):
        call()
    while True:
        left = [
            thread
            for thread in threading.enumerate()
            if not thread.daemon and thread is not threading.main_thread() and thread.is_alive()
        ]
        if not left:
            return
        for thread in left:
            actor = getattr(thread, "_deadrank_actor", None)
            if actor is not None:
                turns.join(actor)
            else:
                thread.join()
