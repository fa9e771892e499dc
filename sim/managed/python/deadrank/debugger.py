# sim/managed/python/deadrank/debugger.py — pdb in one rank while virtual time stands still, and the way back to
# where it began.
import contextlib
import os
import pdb
import signal
import socket
import sys

from . import launch
from .channel import BACK, here


def begin(channel, said):
    """Called while the rank waits for a reply: the next line of the program stops at the prompt."""
    _, files, _, _ = socket.recv_fds(channel.socket, 64, 2)
    frame = find_frame()
    debugger = Debugger(*files, said.get("obstacle", ""))
    if frame is None:
        debugger.message("The rank is in no line of the program.")
        return
    debugger.stop_behind(frame)


def find_frame():
    """The innermost frame of the program's own files."""
    frame, inner = sys._getframe(), None
    while frame is not None:
        name = frame.f_code.co_filename
        if launch.is_users(name):
            if "site-packages" not in name:
                return frame
            inner = inner or frame
        frame = frame.f_back
    return inner


class Lines:
    """Takes no byte beyond the line: what follows may be for a debugger that is begun anew."""

    def __init__(self, file):
        self.file = file

    def readline(self):
        line = b""
        while not line.endswith(b"\n"):
            byte = os.read(self.file, 1)
            if not byte:
                break
            line += byte
        return line.decode(errors="replace")


class Debugger(pdb.Pdb):
    def __init__(self, source, sink, obstacle):
        super().__init__(
            stdin=Lines(source), stdout=os.fdopen(sink, "w", buffering=1), nosigint=True, readrc=False, skip=["deadrank.*"]
        )
        self.use_rawinput = 0
        self.prompt = f"(rank {os.environ.get('RANK', '?')}) "
        self.terminal = source if os.isatty(source) else None
        self.obstacle = obstacle

    def stop_behind(self, frame):
        """As set_trace(), without a stop in the frames between the program and the simulator."""
        self.reset()
        one = frame
        while one is not None:
            one.f_trace = self.trace_dispatch
            if launch.is_users(one.f_code.co_filename):
                self.botframe = one  # `where` shows no frame above it
            one = one.f_back
        self.set_next(frame)
        sys.settrace(self.trace_dispatch)

    def interaction(self, *arguments):
        with self.in_foreground():
            super().interaction(*arguments)

    @contextlib.contextmanager
    def in_foreground(self):
        """Ranks are in process groups of their own, which may not read from a terminal."""
        if self.terminal is None:
            yield
            return
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
        before = os.tcgetpgrp(self.terminal)
        os.tcsetpgrp(self.terminal, os.getpgrp())
        try:
            yield
        finally:
            os.tcsetpgrp(self.terminal, before)

    def do_back(self, _):
        """back
        Goes back to where the debugger began: the whole job is as it was then.
        """
        if self.obstacle:
            self.error(f"the job cannot go back: {self.obstacle}")
            return None
        if self.terminal is not None:
            os.tcsetpgrp(self.terminal, os.getpgid(os.getppid()))
        here.channel.post(BACK)
        here.channel.receive()  # never comes: this job ends
        return None

    def do_quit(self, _):
        """q(uit)
        Leaves the debugger. The job goes on to its end.
        """
        self.clear_all_breaks()
        self.message("")
        return self.do_continue("")

    do_q = do_exit = do_EOF = do_quit
