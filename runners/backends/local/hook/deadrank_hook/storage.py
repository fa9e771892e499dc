# runners/backends/local/hook/deadrank_hook/storage.py — Damage to one file at rest, as disks and lost writes
# leave it. A file that is not the run's own is damaged only where libdeadrank-files.so has a copy of it.
import ctypes
import filecmp
import os
import re
import shutil

KINDS = ("flip", "truncate", "tear", "lose", "stale", "delete", "slow", "full", "read_only", "swap")
AT_ONCE = ("flip", "truncate", "swap", "delete")  # to files that are there already
LASTING = ("slow", "full", "read_only", "stale")  # until reverted
BELOW = ("slow", "full", "read_only")  # done at system calls, by libdeadrank-files.so
ELEMENT = 4  # bytes


class NoReport:
    """Takes the report that a damage is about to be done, or why it cannot be."""

    def applied(self):
        return None

    def refused(self, sentence):
        return None


class Damage:
    def __init__(self, what, path, amount, run="", report=None):
        self.what, self.path, self.amount, self.run = what, path, amount, run
        self.report = NoReport() if report is None else report

    def fits(self, path):
        return self.path in os.path.abspath(path)

    def target(self, directory, slot=0, others=()):
        """The newest file of the job that fits, below its directory or among `others`. If a name was stated,
        each rank takes only its own files, or two ranks would flip one bit back."""
        files = [os.path.join(folder, name) for folder, _, names in os.walk(directory) for name in names]
        files = [file for file in (*files, *others) if self.fits(file) and is_state(os.path.basename(file))]
        if self.path:
            files = [file for file in files if owner(file) == slot]
        return max(files, key=os.path.getmtime, default=None)

    def before_save(self, path):
        """Keeps the old version for a rank that is to read it again."""
        if self.what == "stale" and os.path.isfile(path):
            shutil.copyfile(path, path + ".old")

    def at_rest(self, path):
        """Damages a file that was written or is about to be read. False if it cannot be damaged that way."""
        other = older(path) if self.what == "stale" else sibling_rank(path) if self.what == "swap" else None
        if not self.would_harm(path, other):
            return False
        for file in (path, other if self.what == "swap" else None):
            if file and not self.may_harm(file):
                self.report.refused(f"{file} is not the run's own, and no copy of it could be kept")
                return True
        self.report.applied()
        self.harm(path, other)
        return True

    def would_harm(self, path, other):
        if self.what in ("stale", "swap"):
            return bool(other) and not filecmp.cmp(path, other, shallow=False)
        return self.what in ("lose", "delete") or os.path.getsize(path) > 0

    def may_harm(self, file):
        own = os.path.realpath(self.run) + os.sep if self.run else "/"
        return os.path.realpath(file).startswith(own) or keep(file)

    def harm(self, path, other):
        size = os.path.getsize(path)
        if self.what in ("flip", "truncate", "tear", "stale"):
            detach_hard_link(path)
        if self.what == "flip":
            flip(path, self.amount if self.amount > 0 else size * 4)
        elif self.what in ("truncate", "tear"):
            os.truncate(path, self.amount if 0 < self.amount < size else size // 2)
        elif self.what in ("lose", "delete"):
            os.unlink(path)
        elif self.what == "stale":
            shutil.copyfile(other, path)
            if other == path + ".old":
                os.unlink(other)
        elif self.what == "swap":
            for a, b in ((path, path + ".swap"), (other, path), (path + ".swap", other)):
                os.replace(a, b)


def keep(file):
    """True if the library below has a copy, or knows that there was no file before the job."""
    library = ctypes.CDLL(None)
    path = os.fsencode(os.path.abspath(file))
    return hasattr(library, "deadrank_keep") and library.deadrank_keep(path) == 0


def detach_hard_link(path):
    """Copies a file that has other hard links, so that only this name is damaged."""
    path = os.path.realpath(path)
    if os.stat(path).st_nlink > 1:
        shutil.copy2(path, path + ".apart")
        os.replace(path + ".apart", path)


def changed_by_job():
    """Files that the job has written outside of the run's directory, as the library below lists them."""
    kept = os.environ.get("DEADRANK_KEPT")
    if not kept or not os.path.isfile(os.path.join(kept, "list")):
        return []
    with open(os.path.join(kept, "list"), "rb") as file:
        lines = [line.split(b" ") for line in file.read().split(b"\n")]

    def plain(path):
        return os.fsdecode(re.sub(rb"%(..)", lambda found: bytes([int(found[1], 16)]), path))

    paths = {plain(words[1]) for words in lines if len(words) == 8}
    return [path for path in paths if os.path.isfile(path)]


def flip(path, bit):
    with open(path, "r+b") as file:
        position = (bit // 8) % os.path.getsize(path)
        file.seek(position)
        byte = file.read(1)[0] ^ (1 << (bit % 8))
        file.seek(position)
        file.write(bytes([byte]))
        file.flush()
        os.fsync(file.fileno())


def is_state(name):
    """False for the marker, and for the script that DeepSpeed leaves beside each checkpoint."""
    return name != "latest" and not name.endswith(".py")


def owner(path):
    """The rank that a file's name says wrote it: rank1.pt, shard1of2.pt, __1_0.distcp, zero_pp_rank_1_…"""
    found = re.search(r"(?:shard|rank)[_-]?(\d+)|__(\d+)_\d+\.distcp$", os.path.basename(path))
    return int(found[1] or found[2]) if found else 0


def older(path):
    """The content before the last write: kept when it was overwritten in place, else the same file of the
    checkpoint before, as `step9/rank0.pt` for `step14/rank0.pt`."""
    if os.path.isfile(path + ".old"):
        return path + ".old"
    folder, name = os.path.split(os.path.abspath(path))
    above = os.path.dirname(folder)
    if not os.path.isdir(above):
        return None
    found = [
        os.path.join(above, other, name) for other in os.listdir(above) if other != os.path.basename(folder)
    ]
    found = [file for file in found if os.path.isfile(file)]
    return max(found, key=os.path.getmtime, default=None)


def sibling_rank(path):
    """The same file of another rank; if there is none, another file of its kind."""
    folder, name = os.path.split(path)
    others = sorted(
        other for other in os.listdir(folder) if other != name and other.endswith(os.path.splitext(name)[1])
    )

    def plain(text):
        return re.sub(r"\d+", "", text)

    alike = [other for other in others if plain(other) == plain(name)]
    return os.path.join(folder, (alike or others)[0]) if others else None
