# runners/local/hook/deadrank_hook/storage.py — Damage to one file at rest, as disks, full volumes and lost
# writes leave it.
import errno
import os
import shutil
import time

KINDS = ("flip", "truncate", "tear", "lose", "stale", "delete", "slow", "full", "read_only", "swap")
AT_ONCE = ("flip", "truncate", "swap", "delete")  # to files that are there already
LASTING = ("slow", "full", "read_only", "stale")  # until taken back
BELOW = ("slow", "full", "read_only")  # met at system calls, where libdeadrank-files.so was loaded
ELEMENT = 4  # bytes
REFUSALS = {"full": errno.ENOSPC, "read_only": errno.EROFS}


class Damage:
    def __init__(self, what, path, amount):
        self.what, self.path, self.amount = what, path, amount

    def fits(self, path):
        return self.path in path

    def target(self, directory):
        """The newest file of the job that fits."""
        files = [os.path.join(folder, name) for folder, _, names in os.walk(directory) for name in names]
        files = [file for file in files if self.fits(file) and os.path.basename(file) != "latest"]
        return max(files, key=os.path.getmtime, default=None)

    def before_save(self, path):
        """Refusals and delays come before the write; the old version is kept for those that need it."""
        if self.what in REFUSALS:
            number = REFUSALS[self.what]
            raise OSError(number, os.strerror(number), path)
        if self.what == "slow":
            time.sleep(self.amount / 1e9)
        if self.what == "stale":
            old = newest_sibling(path)
            if old:
                shutil.copyfile(old, path + ".old")

    def at_rest(self, path):
        """The file was written, or is about to be read."""
        size = os.path.getsize(path)
        if self.what == "flip":
            flip(path, self.amount if self.amount > 0 else size * 4)
        elif self.what in ("truncate", "tear"):
            os.truncate(path, self.amount if 0 < self.amount < size else size // 2)
        elif self.what in ("lose", "delete"):
            os.unlink(path)
        elif self.what == "stale" and os.path.exists(path + ".old"):
            os.replace(path + ".old", path)
        elif self.what == "swap":
            other = sibling_rank(path)
            if other:
                for a, b in ((path, path + ".swap"), (other, path), (path + ".swap", other)):
                    os.replace(a, b)


def flip(path, bit):
    with open(path, "r+b") as file:
        position = (bit // 8) % os.path.getsize(path)
        file.seek(position)
        byte = file.read(1)[0] ^ (1 << (bit % 8))
        file.seek(position)
        file.write(bytes([byte]))
        file.flush()
        os.fsync(file.fileno())


def newest_sibling(path):
    """The same file of the checkpoint before: `step9/rank0.pt` for `step14/rank0.pt`."""
    folder, name = os.path.split(path)
    above = os.path.dirname(folder)
    if os.path.exists(path):
        return path
    found = [
        os.path.join(above, other, name) for other in os.listdir(above) if other != os.path.basename(folder)
    ]
    found = [file for file in found if os.path.isfile(file)]
    return max(found, key=os.path.getmtime, default=None)


def sibling_rank(path):
    folder, name = os.path.split(path)
    others = sorted(
        other for other in os.listdir(folder) if other != name and other.endswith(os.path.splitext(name)[1])
    )
    return os.path.join(folder, others[0]) if others else None
