# runners/backends/local/hook/deadrank_hook/waits.py — How long threads of this process had no processor, as
# the kernel counts it: who had to wait for one is not slow.
import os
import threading
import time

LOOK = 20_000_000  # nanoseconds between looks at all threads
LIST = 1_000_000_000  # the same between looks at which threads there are, and which run


class Waits:
    """Files of the kernel stay open: opening takes longer than reading. A thread that has not run for a
    second is read once a second."""

    def __init__(self, own):
        self.own = own  # the hook's own threads, which delay nobody
        self.files, self.ran = {}, {}  # thread → its file; how long it had run when threads were listed
        self.runs, self.waited = {}, {}  # those that run → file; thread → nanoseconds without a processor
        self.looked = self.listed = 0

    def here(self, looked=False):
        """Nanoseconds in which this thread had to wait for a processor. `looked`: at all, just now."""
        thread = threading.get_native_id()
        if looked and thread in self.runs:
            return self.waited.get(thread, 0)
        return self.read(thread)[1]

    def longest(self):
        """The longest that one thread of the process had no processor since the last call, in nanoseconds;
        None if that was just now: reading every thread costs time. Some make a library's transfers."""
        now = time.monotonic_ns()
        if now - self.looked < LOOK:
            return None
        first, self.looked = not self.looked, now
        if now - self.listed > LIST:
            self.listed = now
            self.list()
        longest, before, gone, pread = 0, self.waited, None, os.pread
        for thread, file in self.runs.items():
            try:
                waited = int(pread(file, 64, 0).split()[1])
            except (OSError, IndexError):
                gone = thread
                continue
            more = waited - before.get(thread, 0)
            if more:
                before[thread] = waited
                if more > longest:
                    longest = more
        if gone is not None:
            self.forget(gone)
        return 0 if first else longest  # what they waited before the first look belongs to no step

    def list(self):
        try:
            there = set(map(int, os.listdir("/proc/self/task"))) - self.own()
        except OSError:
            return
        for thread in set(self.files) - there:
            self.forget(thread)
        self.runs = {}
        for thread in there:
            ran = self.read(thread)[0]
            if ran != self.ran.get(thread) and thread in self.files:
                self.ran[thread], self.runs[thread] = ran, self.files[thread]

    def read(self, thread):
        """Nanoseconds in which it ran, and in which it waited to."""
        try:
            file = self.files.get(thread)
            if file is None:
                path = f"/proc/self/task/{thread}/schedstat"
                file = self.files[thread] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            ran, waited = os.pread(file, 64, 0).split()[:2]
            return int(ran), int(waited)
        except (OSError, ValueError):  # the thread is gone, or the kernel does not count
            self.forget(thread)
            return 0, 0

    def forget(self, thread):
        for table in (self.ran, self.runs, self.waited):
            table.pop(thread, None)
        file = self.files.pop(thread, None)
        if file is not None:
            os.close(file)


class Workers:
    """The processes that load batches for this rank. One that has no processor holds the rank up, which waits in
    its data phase and would be called slow."""

    def __init__(self, proc="/proc"):
        self.proc, self.waited = proc, {}  # process → nanoseconds without a processor when last asked

    def longest(self, processes):
        """The longest that one of them had no processor since this was last asked, in nanoseconds. 0 for one
        that is new: what it waited until now may have delayed nobody."""
        now = {process: self.read(process) for process in processes}
        more = [waited - self.waited.get(process, waited) for process, waited in now.items()]
        self.waited = now
        return max(more, default=0)

    def read(self, process):
        try:
            with open(f"{self.proc}/{process}/schedstat", encoding="ascii") as file:
                return int(file.read().split()[1])
        except (OSError, ValueError, IndexError):  # it is gone, or the kernel does not count
            return self.waited.get(process, 0)
