# sim/managed/python/deadrank/files.py — Ranks share the files of this machine, and one rank runs at a time. A rank
# that removes a file lets time pass before, so that the ranks which read it at the same moment find it.
import functools
import os

from .channel import here

PAUSE = 100_000  # ns: longer than ranks are apart that a barrier lets go together

last = None  # when this rank removed something


def let_others_read():
    global last
    now = here.channel.time()
    if now != last:
        here.turns.sleep_until(now + PAUSE)
        last = here.channel.time()


def later(real):
    @functools.wraps(real)
    def remove(*args, **said):
        if here.channel is not None:
            let_others_read()
        return real(*args, **said)

    return remove


def install():
    """In the zygote, before modules take these functions."""
    os.remove, os.unlink, os.rmdir = later(os.remove), later(os.unlink), later(os.rmdir)
