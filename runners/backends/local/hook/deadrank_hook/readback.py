# runners/backends/local/hook/deadrank_hook/readback.py — Checks that saved files can be read back. A thread
# looks at each file of torch.save when it has been left alone for a while, and again at the end: is the table
# of contents there, and does each part match the checksum that torch wrote? A file that has become another
# format, or is gone, is the program's business.
import os
import threading
import time
import zipfile

QUIET = 1.0  # seconds that a file must have been left alone
MOST = 1 << 30  # bytes; larger files are not read
AT_END = 256 << 20  # the same at the end, when the program waits for us


class ReadBack:
    def __init__(self, hook, failed):
        self.hook = hook
        self.failed = failed  # takes the error that ended the checks
        self.saved = {}  # path → (fields of its event, its stamp when it was last checked)
        self.lock = threading.Lock()
        self.followed = False

    def after(self, path, said):
        if not checked_by_torch():
            return
        with self.lock:
            self.saved.pop(path, None)
            self.saved[path] = (said, None)
            if len(self.saved) > 8:  # programs rotate their checkpoints
                self.saved.pop(next(iter(self.saved)))
        if not self.followed:
            self.followed = True
            self.hook.threads.every(QUIET / 2, self.follow, "deadrank-readback")

    def follow(self):
        if self.hook.off:
            return
        try:
            self.look(MOST, QUIET)
        except Exception as trouble:
            self.failed(self.hook, trouble)

    def at_end(self):
        self.look(AT_END, QUIET / 4)

    def look(self, most, quiet):
        with self.lock:
            waiting = list(self.saved.items())
        for path, (said, well) in waiting:
            now = stamp(path)
            if now is None or now == well or now.st_size > most or time.time() - now.st_mtime < quiet:
                continue
            wrong = damage(path)
            if stamp(path) != now:  # it was written to meanwhile
                continue
            with self.lock:
                if self.saved.get(path, (None,))[0] is said:
                    self.saved[path] = (said, now)
            if wrong:
                self.hook.evidence.write(
                    "checkpoint.load", path=path, result="corrupt", bytes=now.st_size, **said
                )


class Stamp:
    def __init__(self, seen):
        self.st_size, self.st_mtime = seen.st_size, seen.st_mtime
        self.all = (seen.st_ino, seen.st_size, seen.st_mtime_ns)

    def __eq__(self, other):
        return isinstance(other, Stamp) and self.all == other.all

    __hash__ = None


def stamp(path):
    try:
        return Stamp(os.stat(path))
    except OSError:
        return None


def checked_by_torch():
    """A program may tell torch to write no checksums."""
    import torch

    asked = getattr(torch.serialization, "get_crc32_options", None)
    return asked is None or asked()


def damage(path):
    try:
        with open(path, "rb") as file:
            begins = file.read(4)
            if begins and begins != b"PK\x03\x04":
                return False  # another format
            if not begins:
                return True
            with zipfile.ZipFile(file) as parts:
                return parts.testzip() is not None
    except (zipfile.BadZipFile, EOFError, NotImplementedError):
        return True
    except OSError:
        return False
