# sim/managed/python/deadrank/observers.py — Steps, phases, losses, batches, checkpoints and digests are observed by the
# `local` runner's hook. Its evidence goes through the channel, and where it asks its own faults, the simulator is
# asked. Calls, groups and stores are not observed here: the simulator plays them.
import errno
import functools
import hashlib
import json
import os
import shutil
import sys

from . import channel as wire
from .channel import here

SENT_AS_REQUESTS = (b"step.begin", b"phase.begin", b"phase.end")  # STEP and PHASE are requests of their own
SCALE = 1_000_000_000  # parts of one in which a fault changes a rate

observer = None  # of this rank; None without a hook


def begin(options):
    """`options["hook"]`: the directory that holds deadrank_hook."""
    global observer
    place = options.get("hook")
    if not place or "torch" not in sys.modules:
        return
    if place not in sys.path:
        sys.path.append(place)
    observer = Hook(options.get("plan") or {})
    observer.watch()


class Hook:
    """Has what the hook's parts ask of one another."""

    watching = False
    off = False
    directory = ""

    def __init__(self, plan):
        rank = os.environ.get("RANK", "")
        self.slot = int(rank) if rank.isdigit() else here.options.get("process", 0)
        self.plan = plan
        self.step = 0
        self.training = None
        self.evidence = evidence_writer(self.slot)
        self.threads = Nothing()
        self.flight = Nothing()
        self.readback = Nothing()
        self.store = Nothing()
        self.opening = None
        self.injector = Moments(self)

    def shown_step(self):
        return self.step if self.training is not None and self.training.began else -1

    def watch(self):
        import torch.distributed.distributed_c10d as c10d
        from deadrank_hook import checkpoints, data, groups, imports, later, replicas, training

        groups.watch_store(self, c10d)
        later.graphs.watch()
        replicas.watch(self)
        training.watch(self)
        self.training.waits = self.training.memory = Nothing()  # they show the real machine
        self.training.counted = True
        data.watch(self)
        storage_first(checkpoints)
        checkpoints.watch(self)
        imports.after("torch.distributed.checkpoint.filesystem", lambda: storage_in_writer(self, checkpoints))
        watch_the_end(self)


class Nothing:
    """Parts of the hook that show the real machine, or that the simulator has itself."""

    meant = ""  # by a fault that leads to another store

    def here(self, looked=False):
        return 0

    def longest(self):
        return None

    def step_ended(self):
        return None

    def dump(self):
        return None

    def numbers(self):
        return set()


def evidence_writer(slot):
    from deadrank_hook import evidence

    class Writer(evidence.Writer):
        """Each line is a message. A child of the rank has no channel, and writes nothing."""

        def put(self, lines):
            if here.channel is None or self.off:
                return
            for line in lines.splitlines():
                if not any(kind in line[:96] for kind in SENT_AS_REQUESTS):
                    here.channel.post_line(line)

    return Writer("", slot)


class Moments:
    """In the place of the hook's injector: at each moment at which a fault may act, the simulator is asked."""

    armed = True

    def __init__(self, hook):
        self.hook = hook
        self.shown = ""
        self.levers = Levers()

    @property
    def phase(self):
        return self.shown

    @phase.setter
    def phase(self, name):
        ended, self.shown = bool(self.shown) and not name, name
        if ended and here.channel is not None:
            here.channel.pass_moment(wire.PHASE, b"none")

    def at(self, call, comm="", altered=None):
        if here.channel is None:
            return
        if call == "step":
            here.channel.pass_moment(wire.STEP, wire.NUMBER.pack(self.hook.step))
            if here.options.get("compute"):
                here.channel.request(wire.COMPUTE, wire.NUMBER.pack(here.options["compute"]))
        elif call == "phase":
            here.channel.pass_moment(wire.PHASE, self.shown.encode())


class Levers:
    """Values and blocks that a fault may change are asked for when the program uses them."""

    def __init__(self):
        self.damages, self.saved = [], set()
        self.skipped = Skipped()
        self.bends = Everything()

    def stretch(self, seconds):
        return None

    def bent(self, seam, value):
        if here.channel is None:
            return value
        if isinstance(value, int):
            return type(value)(here.channel.ask(wire.SEAM, name=seam, value=int(value))["value"])
        if not isinstance(value, float):
            return value
        return float(here.channel.ask(wire.SEAM, name=seam, value=value, scale=SCALE)["value"])


class Skipped:
    def __contains__(self, block):
        return here.channel is not None and not here.channel.ask(wire.BLOCK, name=block)["run"]


class Everything:
    def __contains__(self, name):
        return True


# Files


def storage_first(checkpoints):
    """The simulated disk has its say of each checkpoint file."""
    save, load = checkpoints.one_save, checkpoints.one_load

    def one_save(hook, path, really, directory=False, **more):
        counted = checkpoints.is_counted(hook, path)
        following = hook.saved_after.get(os.path.abspath(path), hook.training.next_step())

        def saved():
            answer = really()
            if counted:
                query_saved_step("saved", path, directory, following=following)
            for file in checkpoints.files_of(hook, path, directory):
                if os.path.isfile(file) and os.path.abspath(file) not in in_writer:
                    stored("write", file)
            return answer

        try:
            answer = save(hook, path, saved, directory, **more)
        finally:
            in_writer.clear()
        hook.saved_after.pop(os.path.abspath(path), None)
        return answer

    def one_load(hook, path, really, directory=False):
        following = query_saved_step("loaded", path, directory)
        for file in checkpoints.files_of(hook, path, directory):
            if os.path.isfile(file):
                stored("read", file)
        answer = load(hook, path, really, directory)
        if following is not None and not hook.training.open:
            hook.step = following
        return answer

    def query_saved_step(op, path, directory, **said):
        """The simulator remembers after which step each checkpoint was saved: neither its name nor what it holds tells,
        since programs count as they like. It is known by its path, else, after a copy or a rename, by its content."""
        index = os.path.join(path, ".metadata") if directory else path
        if here.channel is None or not os.path.isfile(index):
            return None
        digest = str(checkpoints.content(index)["digest"])
        answer = here.channel.ask(wire.STORAGE, op=op, path=os.path.abspath(path), digest=digest, **said)
        return answer.get("following")

    checkpoints.one_save, checkpoints.one_load = one_save, one_load
    os.rename, os.replace = renamed(os.rename), renamed(os.replace)


written = set()  # by this rank
in_writer = set()  # of the save that runs: what the storage writer has written, which the simulated disk knows


def storage_in_writer(hook, checkpoints):
    """Of a distributed checkpoint each file is on the simulated disk before its writer answers: after the save's last
    call any rank may read it."""
    module = sys.modules["torch.distributed.checkpoint.filesystem"]
    writer = getattr(module, "_FileSystemWriter", module.FileSystemWriter)
    write_data, finish = writer.write_data, writer.finish

    def store(path, of_index):
        for file in () if hook.off else checkpoints.files_of(hook, path, True):
            if (os.path.basename(file) == ".metadata") == of_index and os.path.isfile(file):
                stored("write", file)
                in_writer.add(os.path.abspath(file))

    @functools.wraps(write_data)
    def watched_write(self, plan, planner):
        future = write_data(self, plan, planner)
        future.wait()
        store(os.fspath(self.path), False)
        return future

    @functools.wraps(finish)
    def watched_finish(self, metadata, results):
        finish(self, metadata, results)
        store(os.fspath(self.path), True)

    writer.write_data, writer.finish = watched_write, watched_finish


def renamed(real):
    """Programs save beside a checkpoint and put the new one in its place."""

    @functools.wraps(real)
    def rename(src, dst, **said):
        real(src, dst, **said)
        if here.channel is None or not written or said or isinstance(src, bytes):
            return
        source, target = os.path.abspath(src), os.path.abspath(dst)
        if source in written:
            written.discard(source)
            written.add(target)
            here.channel.ask(wire.STORAGE, op="rename", path=source, to=target)

    return rename


ERRORS = {"no_space": errno.ENOSPC, "read_only": errno.EROFS, "not_found": errno.ENOENT}


def version_file(version):
    directory = os.path.join(os.environ.get("DEADRANK_TEMPORARY") or os.getcwd(), ".deadrank_versions")
    os.makedirs(directory, exist_ok=True)
    return os.path.join(directory, str(version))


def keep_version(file, said):
    """A disk that loses a write shows the version before it, so each one is kept where the plan has faults."""
    if not here.options.get("armed", False):
        return
    if said["there"]:
        shutil.copyfile(file, version_file(said["version"]))
    else:
        os.remove(file)


def spoil(file, said):
    """The real file becomes what the simulated disk holds."""
    with open(version_file(said["version"]), "rb") as kept:
        content = bytearray(kept.read())
    step = max(8, len(content) // max(1, said["of"]) & -8)
    del content[len(content) * said["kept"] // max(1, said["of"]) :]
    for place, bits in said["flips"]:
        for i, byte in enumerate(bits.to_bytes(8, "little")):
            if place * step + i < len(content):
                content[place * step + i] ^= byte
    with open(file, "wb") as spoilt:
        spoilt.write(content)


def cut_in_half(file, size):
    """Returns the half that is gone."""
    with open(file, "rb") as whole:
        whole.seek(size // 2)
        rest = whole.read()
    os.truncate(file, size // 2)
    return rest


def stored(op, file):
    if here.channel is None:
        return
    size = os.path.getsize(file)
    rest = b""
    if op == "write":
        written.add(os.path.abspath(file))
        rest = cut_in_half(file, size)  # what a rank leaves that is killed now, or whose disk refuses
    said = here.channel.ask(wire.STORAGE, op=op, path=os.path.abspath(file), bytes=size)
    code = said.get("code", "ok")
    if code == "ok":
        if rest:
            with open(file, "ab") as half:
                half.write(rest)
        if op == "write":
            keep_version(file, said)
        elif "version" in said:
            spoil(file, said)
        return
    if code == "not_found" and op == "read":
        os.remove(file)  # the disk has lost it
    number = ERRORS.get(code, errno.EIO)
    refused = OSError(number, os.strerror(number), file)
    refused.deadrank_work = None  # as what the simulator answers to a call: shown without deadrank's frames
    raise refused


def watch_the_end(hook):
    """The last step is over when the program leaves its process groups."""
    import torch.distributed as dist
    import torch.distributed.distributed_c10d as c10d

    real = c10d.destroy_process_group

    def destroy_process_group(group=None):
        if group is None or group is dist.group.WORLD:
            hook.training.finish()
        real(group)

    dist.destroy_process_group = c10d.destroy_process_group = destroy_process_group


# Asked by the process group and by the program


class Members:
    def __init__(self, members):
        self.members = members


def reduced(tensors, members):
    """A sum or an average: of gradients, perhaps, by which replicas are known."""
    if observer is not None:
        observer.replicas.averages(tensors, Members(members))


def step():
    return observer.shown_step() if observer is not None else -1


def begin_step(number):
    if observer is not None:
        observer.training.begin_stated(number)


def record_loss(value):
    if observer is not None and observer.training.open:
        observer.training.loss = float(value)
    else:
        here.channel.tell(wire.RECORD, kind="value.sample", step=step(), name="loss", value=value, expected="nan")


def digest_of(value):
    import torch

    many = value if isinstance(value, (list, tuple)) else [value]
    if many and all(isinstance(one, torch.Tensor) for one in many):
        state = hashlib.blake2b(digest_size=8)
        for one in many:
            one = one.to_local() if hasattr(one, "to_local") else one
            state.update(one.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
        return int.from_bytes(state.digest(), "little")
    text = json.dumps(value, sort_keys=True, default=repr)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
