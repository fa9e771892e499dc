# runners/backends/local/hook/deadrank_hook/threads.py — The hook's own threads. They end before the
# interpreter does: a thread that comes out of C++ while Python shuts down aborts the whole process
# (pytorch/pytorch#38228).
import atexit
import os
import threading

PATIENCE = 2.0  # seconds that the program's end waits for one of them


class Threads:
    def __init__(self):
        self.over = threading.Event()
        self.all, self.process = [], os.getpid()
        atexit.register(self.end)  # first of all, so that it is called last

    def every(self, seconds, look, name):
        """Calls `look` as often, in a thread of its own."""

        def run():
            while not self.over.wait(seconds):
                look()

        thread = threading.Thread(target=run, daemon=True, name=name)
        thread.start()
        self.all.append(thread)

    def numbers(self):
        return {thread.native_id for thread in self.all}

    def end(self):
        if os.getpid() != self.process:  # a child has none of them
            return
        self.over.set()
        for thread in self.all:
            thread.join(PATIENCE)
