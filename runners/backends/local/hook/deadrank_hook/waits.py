# runners/backends/local/hook/deadrank_hook/waits.py — How long threads of this process had no processor, as
# the kernel counts it: who had to wait for one is not slow.
import os
import time

LOOK = 0.02  # seconds between looks at all threads


class Waits:
    """How long threads were runnable without a processor. Their files stay open: opening takes longer than
    reading."""

    def __init__(self):
        self.files, self.listed = {}, 0.0

    def of(self, thread):
        file = self.files.get(thread)
        try:
            if file is None:
                path = f"/proc/self/task/{thread}/schedstat"
                file = self.files[thread] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            return int(os.pread(file, 64, 0).split()[1])
        except (OSError, IndexError):  # the thread is gone, or the kernel does not count
            self.close(thread)
            return None

    def close(self, thread):
        file = self.files.pop(thread, None)
        if file is not None:
            os.close(file)

    def all(self):
        """Of every thread. The list of threads is refreshed once a second."""
        now = time.monotonic()
        if now - self.listed > 1.0:
            self.listed = now
            there = set(map(int, os.listdir("/proc/self/task")))
            for thread in set(self.files) - there:
                self.close(thread)
            threads = there
        else:
            threads = list(self.files)
        seen = ((thread, self.of(thread)) for thread in threads)
        return {thread: waited for thread, waited in seen if waited is not None}


class Others:
    """The process's other threads, some of which make a library's transfers."""

    def __init__(self, waits):
        self.waits, self.before, self.looked = waits, {}, 0.0

    def waited(self):
        """The longest that one of them had no processor since the last call; None if that was just now:
        reading every thread costs time."""
        moment = time.monotonic()
        if moment - self.looked < LOOK:
            return None
        self.looked = moment
        try:
            now = self.waits.all()
        except OSError:
            return None
        since = self.before or now  # what they waited before the first look belongs to no step
        longest = max((waited - since.get(thread, 0) for thread, waited in now.items()), default=0)
        self.before = now
        return longest / 1e9
