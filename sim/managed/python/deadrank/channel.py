# sim/managed/python/deadrank/channel.py — The rank's end of the channel to the simulator: the wire format, the
# arena through which bytes move, and the rank's virtual clock.
import builtins
import ctypes
import errno
import json
import os
import socket
import struct
import sys

HEADER = struct.Struct("<BBHIq")
WORK = struct.Struct("<Q")
STATE = struct.Struct("<bxxxi")
COLLECTIVE_BODY = struct.Struct("<QIBBBBiIqqqqq")
MESSAGE_BODY = struct.Struct("<QIBBBBiiqq")
WAIT_BODY = struct.Struct("<BBHIq")
PAIR = struct.Struct("<qq")
NUMBER = struct.Struct("<q")
GROUP = struct.Struct("<I")

COLLECTIVE, MESSAGE, GROUP_START, GROUP_END = 0x10, 0x11, 0x12, 0x13
WAIT, POLL = 0x20, 0x21
STORE_OPEN, STORE, STORE_CLOSE = 0x30, 0x31, 0x32
COMM_OPEN, COMM_CLOSE, COMM_ERROR = 0x40, 0x41, 0x42
RECORD, STEP, PHASE, SEAM, BLOCK, STORAGE, DEVICE = 0x50, 0x51, 0x52, 0x53, 0x54, 0x55, 0x56
COMPUTE, KEEP_SIGNAL, EXIT, STACK, FORKED, BACK = 0x60, 0x61, 0x70, 0x71, 0x72, 0x73

ANSWER, RAISE, QUERY, FORK, ENTER, DEBUG = 0, 1, 2, 3, 4, 5
IN_ARENA = 0x80  # flag: the body lies in the arena, the message holds its offset and size
HELD = 0x10  # flag of a post: the rank waits until it is played, and its clock does not learn of it
POSTS_WITHOUT_REPLY = (EXIT, STACK, BACK)  # posts that no answer follows
ACKNOWLEDGED = 0x20  # flag: a post that is answered, with nothing
UNANSWERED = 0x40  # flag: a post of a kind that is a request otherwise
BESIDE_OTHERS = 1  # flag of a reply: other ranks may run at the same time
NEVER = -1
ARENA_MAP = (ctypes.c_void_p, ctypes.c_size_t, *(ctypes.c_int,) * 3, ctypes.c_long)  # arguments of mmap()
LEAST = 16 << 20  # bytes of addresses with which a rank can begin
LONGEST = 64 << 10  # bytes of a message; a longer body goes through the arena
GONE = 9  # exit code of a rank whose simulator is gone


class Here:
    """What this process is. `channel` and `turns` are None in the zygote, in a rank's children, and in every
    process that no simulator started; all patches then do what Python does."""

    channel = None
    turns = None
    options = {}
    orphan = False  # a child of a rank
    fork = enter = debug = None  # of forks.py and debugger.py
    file_turn = None  # of files.py, where ranks run at the same time


here = Here()


class Arena:
    """A file in memory that the simulator maps as well. It grows on demand and never shrinks. Blocks are
    multiples of 64 bytes, the first that fits is taken."""

    ROOM = 64 << 30  # addresses that are reserved; the file may become as large
    GRAIN = 64
    GROWTH = 1 << 20

    def __init__(self, file):
        self.file = file
        self.size = os.fstat(file).st_size
        self.room, self.base = map_shared(file, self.ROOM)
        self.top = 0
        self.free = []  # (offset, size), by offset, never adjacent

    def allocate(self, size):
        size = max(self.GRAIN, (size + self.GRAIN - 1) & -self.GRAIN)
        free = self.free
        for place, (offset, room) in enumerate(free):
            if room >= size:
                if room == size:
                    del free[place]
                else:
                    free[place] = (offset + size, room - size)
                return offset
        offset = self.top
        self.top += size
        if self.top > self.size:
            self.grow()
        return offset

    def grow(self):
        if self.top > self.room:
            raise MemoryError(f"deadrank: the calls under way hold more than {self.room >> 20} MiB")
        self.size = -(-self.top // self.GROWTH) * self.GROWTH
        os.ftruncate(self.file, self.size)

    def release(self, offset, size):
        size = max(self.GRAIN, (size + self.GRAIN - 1) & -self.GRAIN)
        free = self.free
        end = offset + size
        place = len(free)
        while place and free[place - 1][0] > offset:
            place -= 1
        if place < len(free) and free[place][0] == end:
            end += free.pop(place)[1]
        if place and sum(free[place - 1]) == offset:
            place -= 1
            offset = free.pop(place)[0]
        if end == self.top:
            self.top = offset
        else:
            free.insert(place, (offset, end - offset))

    def address(self, offset):
        return self.base + offset


def map_shared(file, size):
    """Returns how much could be mapped, and where. mmap.mmap refuses to map more than the file holds so far."""
    library = ctypes.CDLL(None, use_errno=True)
    library.mmap.restype = ctypes.c_void_p
    library.mmap.argtypes = ARENA_MAP
    read_write, shared, no_reserve = 3, 1, 0x4000
    while size >= LEAST:
        address = library.mmap(None, size, read_write, shared | no_reserve, file, 0)
        if address != ctypes.c_void_p(-1).value:
            return size, address
        size //= 4  # a limit on addresses (ulimit -v)
    raise OSError(ctypes.get_errno(), "deadrank: the arena cannot be mapped")


class Channel:
    """Posts have no answer; a request blocks until its reply. Only the thread whose turn it is may use it."""

    def __init__(self, channel, arena):
        self.socket = socket.socket(fileno=channel)
        self.arena = Arena(arena)
        self.now = 0  # virtual ns since the job's start, of the last reply
        self.clock_reads = 0  # since the last request
        self.works = 0  # numbers given so far
        self.kept = ()  # blocks of long messages that the proxy may not have read yet
        self.stack = lambda: []
        self.closing = False  # the rank has said how it ends
        self.line = None  # a function that returns the program's line, if each message is to name it
        self.line_told = ""

    def new_work(self):
        self.works += 1
        return self.works

    def time(self):
        """Of the simulation: deadlines are reckoned from it."""
        return self.now

    def clock(self):
        """What the rank's clocks show."""
        return self.now

    def take_charge(self):
        """ns of compute since the last message."""
        return 0

    def arrive(self, now):
        """A reply came at this time."""
        self.now = now

    def post(self, kind, body=b"", flags=0):
        """Where the job may be copied, the rank is held until the post is played: at no moment does it run on."""
        if here.options.get("held", False) and kind not in POSTS_WITHOUT_REPLY:
            self.send(kind, body, flags | HELD)
            self.receive()
        else:
            self.send(kind, body, flags)

    def send(self, kind, body, flags):
        if self.line is not None:
            self.post_source_line()
        length = len(body)
        if length > LONGEST:
            self.send_long(kind, body, flags)
            return
        charge = self.take_charge()
        if charge and here.file_turn is not None:
            here.file_turn.end()  # time passes: others may come before
        try:
            self.socket.send(HEADER.pack(kind, flags, 0, length, charge) + body)
        except OSError as trouble:
            if trouble.errno in (errno.EPIPE, errno.ECONNRESET):
                os._exit(GONE)
            raise

    def post_source_line(self):
        tell, self.line = self.line, None
        line = tell()
        if line and line != self.line_told:
            self.line_told = line
            self.tell(RECORD, kind="rank.log", level=0, line=f"deadrank: at {line}")
        self.line = tell

    def send_long(self, kind, body, flags):
        """The proxy reads the body when it takes the message, so the block is never reused before that: it is
        kept until the next reply."""
        offset = self.arena.allocate(len(body))
        ctypes.memmove(self.arena.address(offset), body, len(body))
        self.kept = [*self.kept, (offset, len(body))]
        self.send(kind, PAIR.pack(offset, len(body)), flags | IN_ARENA)

    def request(self, kind, body=b"", flags=0):
        """Returns the body of the reply, or raises what the simulator answers."""
        self.send(kind, body, flags)
        self.clock_reads = 0
        while True:
            status, body, now = self.receive()
            if status == QUERY:
                self.send(STACK, json.dumps(self.stack()).encode(), 0)
                continue
            self.arrive(now)
            if self.kept:
                for block in self.kept:
                    self.arena.release(*block)
                self.kept = ()
            if status == RAISE:
                raise error_from(json.loads(body))
            return body

    def call(self, kind, body):
        """A post at which a fault may act: then nothing is done beyond it before it is begun."""
        if here.options.get("armed", False) and len(body) <= LONGEST:
            self.request(kind, body, ACKNOWLEDGED)
        else:
            self.post(kind, body)

    def pass_moment(self, kind, body):
        """A moment at which a fault may act. Without any fault in the plan nobody has to be waited for."""
        if here.options.get("armed", True):
            self.request(kind, body)
        else:
            self.post(kind, body, UNANSWERED)

    def receive(self):
        """A long reply comes in several messages."""
        parts = []
        while True:
            try:
                message = self.socket.recv(1 << 20)
            except ConnectionResetError:
                message = b""
            if not message:
                os._exit(GONE)
            status, more, flags, length, now = HEADER.unpack_from(message)
            if status == FORK:
                here.fork(self)
                continue
            parts.append(message[HEADER.size : HEADER.size + length])
            if status == ENTER:
                here.enter(json.loads(parts.pop())["process"])
                continue
            if status == DEBUG:
                here.debug(self, json.loads(parts.pop()))
                continue
            if not more:
                if here.file_turn is not None:
                    here.file_turn.note(flags & BESIDE_OTHERS)
                return status, b"".join(parts), now

    def wait_for_go(self):
        self.arrive(self.receive()[2])

    def ask(self, kind, /, **said):
        """A request whose body and reply are JSON."""
        answer = self.request(kind, as_json(said))
        return json.loads(answer) if answer else {}

    def tell(self, message, /, **said):
        self.post_line(as_json(said), message)

    def post_line(self, line, kind=RECORD):
        self.post(kind, line)

    def wait(self, works, deadline=NEVER, any_of=False, kind=WAIT):
        """Returns for each work whether it is done, and the source of a receive."""
        body = WAIT_BODY.pack(any_of, 0, 0, len(works), deadline) + b"".join(map(WORK.pack, works))
        return list(STATE.iter_unpack(self.request(kind, body)))


def as_json(said):
    """UTF-8. A lone surrogate, which a Python text may hold, becomes a question mark."""
    return json.dumps(said, ensure_ascii=False).encode("utf-8", "replace")


class NotSimulated(RuntimeError):
    """The program does what is not simulated. A test of a suite gets real processes then (drop_in.py)."""


def refuse_child():
    raise NotSimulated(
        "deadrank: a process that a simulated rank starts cannot join a process group. Start the ranks with a "
        "launcher (torchrun, or --ranks)."
    )


def error_from(said):
    """The exception that a reply names; `work` is set where the reply names the operation that failed."""
    module, _, name = said["type"].rpartition(".")
    kind = getattr(sys.modules.get(module), name, None) if module else getattr(builtins, name, None)
    text = said["text"]
    error = SystemExit(int(text)) if kind is SystemExit else (kind or RuntimeError)(text)
    error.deadrank_work = said.get("work")
    return error
