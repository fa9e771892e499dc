# runners/backends/local/hook/deadrank_hook/storage.py — Damage to one file at rest, as disks, full volumes and lost
# writes leave it. A file that is not the run's own is copied and listed first, so that it comes back.
import errno
import json
import os
import re
import shutil
import time

KINDS = ("flip", "truncate", "tear", "lose", "stale", "delete", "slow", "full", "read_only", "swap")
AT_ONCE = ("flip", "truncate", "swap", "delete")  # to files that are there already
LASTING = ("slow", "full", "read_only", "stale")  # until taken back
BELOW = ("slow", "full", "read_only")  # met at system calls, where libdeadrank-files.so was loaded
ELEMENT = 4  # bytes
REFUSALS = {"full": errno.ENOSPC, "read_only": errno.EROFS}


class Damage:
    def __init__(self, what, path, amount, run=""):
        self.what, self.path, self.amount, self.run = what, path, amount, run

    def fits(self, path):
        return self.path in path

    def target(self, directory, slot=0):
        """The newest file of the job that fits. Where a name was stated, each rank takes only what is its
        own, or one bit would be turned there and back."""
        files = [os.path.join(folder, name) for folder, _, names in os.walk(directory) for name in names]
        files = [file for file in files if self.fits(file) and is_state(os.path.basename(file))]
        if self.path:
            files = [file for file in files if owner(file) == slot]
        return max(files, key=os.path.getmtime, default=None)

    def before_save(self, path):
        """Refusals and delays come before the write; the old version is kept for those that need it."""
        if self.what in REFUSALS:
            number = REFUSALS[self.what]
            raise OSError(number, os.strerror(number), path)
        if self.what == "slow":
            time.sleep(self.amount / 1e9)
        if self.what == "stale" and os.path.isfile(path):
            shutil.copyfile(path, path + ".old")

    def at_rest(self, path):
        """The file was written, or is about to be read."""
        other = older(path) if self.what == "stale" else sibling_rank(path) if self.what == "swap" else None
        touched = [file for file in (path, other if self.what == "swap" else None) if file]
        with Kept(self.run, touched):
            self.harm(path, other)

    def harm(self, path, other):
        size = os.path.getsize(path)
        if self.what == "flip" and size:
            flip(path, self.amount if self.amount > 0 else size * 4)
        elif self.what in ("truncate", "tear"):
            os.truncate(path, self.amount if 0 < self.amount < size else size // 2)
        elif self.what in ("lose", "delete"):
            os.unlink(path)
        elif self.what == "stale" and other:
            shutil.copyfile(other, path)
            if other == path + ".old":
                os.unlink(other)
        elif self.what == "swap" and other:
            for a, b in ((path, path + ".swap"), (other, path), (path + ".swap", other)):
                os.replace(a, b)


class Kept:
    """Around a damage: copies of files that are not below the run's directory, and how they were left."""

    def __init__(self, run, files):
        files = [os.path.realpath(file) for file in files]
        own = os.path.realpath(run) + os.sep if run else "/"
        self.files = [file for file in files if not file.startswith(own)]
        self.directory = os.path.join(run, "kept")
        self.backups = []

    def __enter__(self):
        for file in self.files:
            os.makedirs(self.directory, exist_ok=True)
            backup = os.path.join(self.directory, f"{os.getpid()}-{time.time_ns()}")
            shutil.copy2(file, backup)
            self.backups.append(backup)
            self.note(file, backup, {})

    def __exit__(self, *_):
        for file, backup in zip(self.files, self.backups):
            left = os.stat(file) if os.path.exists(file) else None
            size, written = (left.st_size, left.st_mtime_ns) if left else (-1, -1)
            self.note(file, backup, {"size": size, "written": written})

    def note(self, file, backup, left):
        with open(os.path.join(self.directory, f"{os.getpid()}.jsonl"), "a", encoding="utf-8") as notes:
            notes.write(json.dumps({"path": file, "backup": backup, **left}) + "\n")
            notes.flush()
            os.fsync(notes.fileno())


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
    """Not the marker, nor the script that DeepSpeed leaves beside each checkpoint."""
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
    """The same file of another rank; where there is none, another one of its kind."""
    folder, name = os.path.split(path)
    others = sorted(
        other for other in os.listdir(folder) if other != name and other.endswith(os.path.splitext(name)[1])
    )

    def plain(text):
        return re.sub(r"\d+", "", text)

    alike = [other for other in others if plain(other) == plain(name)]
    return os.path.join(folder, (alike or others)[0]) if others else None
