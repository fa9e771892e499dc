# runners/backends/local/hook/deadrank_hook/checkpoints.py — Checkpoint files as torch.save and torch.load, distributed
# checkpoints, safetensors and Lightning write and read them: bytes and digest.
import errno
import functools
import hashlib
import os
import pickle
import re
import struct
import sys
import threading
import zipfile
import zlib

from . import imports, storage
from .levers import identity

LOOKED_AT = 10_000  # values of a saved object that are searched for tensors, at most


def watch(hook):
    import torch

    hook.saved_after = {}  # path: the step that follows what is being saved there
    save, load = torch.save, torch.load

    @functools.wraps(save)
    def watched_save(obj, f, *args, **settings):  # torch's own names: a program may use them
        path = path_of(f)
        if not path or hook.off:
            return save(obj, f, *args, **settings)

        def really():
            save(obj, f, *args, **settings)
            if hasattr(f, "flush"):
                f.flush()

        return one_save(hook, path, really, empty=holds_empty_tensors_alone(obj))

    @functools.wraps(load)
    def watched_load(f, *args, **settings):
        path = path_of(f)
        if not path or hook.off:
            return load(f, *args, **settings)
        return one_load(hook, path, lambda: load(f, *args, **settings))

    torch.save, torch.load = watched_save, watched_load
    torch.serialization.save, torch.serialization.load = watched_save, watched_load
    imports.after("torch.distributed.checkpoint", functools.partial(watch_distributed, hook))
    imports.after("safetensors.torch", functools.partial(watch_safetensors, hook))
    for package in ("lightning.fabric", "lightning_fabric"):
        name = f"{package}.plugins.io.torch_io"
        imports.after(name, functools.partial(watch_lightning, hook, name))


def watch_lightning(hook, name):
    """Lightning saves into memory, and writes that to a file, which may be remote."""
    module = sys.modules[name]
    real = module._atomic_save

    @functools.wraps(real)
    def _atomic_save(checkpoint, filepath):
        path = str(filepath)
        if hook.off or "://" in path:
            return real(checkpoint, filepath)
        return one_save(hook, path, lambda: real(checkpoint, filepath))

    module._atomic_save = _atomic_save


def watch_safetensors(hook):
    """Models of Transformers, Accelerate and Diffusers. Libraries take save_file by name when they are imported; what
    it calls is looked up at each call."""
    import safetensors.torch as module

    serialize = module.serialize_file

    @functools.wraps(serialize)
    def serialize_file(tensors, filename, *args, **settings):
        path = os.fspath(filename)
        if hook.off:
            return serialize(tensors, filename, *args, **settings)
        return one_save(hook, path, lambda: put_in_place(path, lambda part: serialize(tensors, part, *args, **settings)))

    module.serialize_file = serialize_file


def holds_empty_tensors_alone(saved):
    """Whether there are tensors in what is saved, and none of them has an element: what another process or a sharded
    model holds was not gathered."""
    import torch

    pending, tensors = [saved], 0
    for _ in range(LOOKED_AT):
        if not pending:
            return tensors > 0
        one = pending.pop()
        if isinstance(one, torch.Tensor):
            if one.numel() > 0:
                return False
            tensors += 1
        elif isinstance(one, dict):
            pending += one.values()
        elif isinstance(one, (list, tuple)):
            pending += one
    return False


def put_in_place(path, write):
    """The library renames its file by a system call of its own, past libc, and whoever keeps the user's files does not
    see which one is replaced."""
    part = f"{path}.{os.getpid()}.part"
    try:
        write(part)
        os.replace(part, path)
    finally:
        if os.path.exists(part):
            os.remove(part)


def path_of(file):
    """Of a path, or of a file that was just opened; empty: it is in memory, or holds something before this."""
    if isinstance(file, (str, os.PathLike)):
        return os.fspath(file)
    name = getattr(file, "name", "")
    try:
        return name if isinstance(name, str) and os.path.isfile(name) and file.tell() == 0 else ""
    except (OSError, ValueError, AttributeError):
        return ""


def watch_distributed(hook):
    """Distributed checkpoints: a directory in which each rank writes and reads its part."""
    import torch.distributed.checkpoint as distributed

    def watched(real, watch_one):
        @functools.wraps(real)
        def call(*args, **settings):
            path = place_of(settings)
            if not path or hook.off:
                return real(*args, **settings)
            return watch_one(hook, path, lambda: real(*args, **settings), directory=True)

        return call

    distributed.save = watched(distributed.save, one_save)
    distributed.load = watched(distributed.load, one_load)
    for module, name in (("state_dict_saver", "save"), ("state_dict_loader", "load")):
        if hasattr(distributed, module):  # async_save() calls this one in a thread
            setattr(getattr(distributed, module), name, getattr(distributed, name))
    if hasattr(distributed, "async_save"):
        watch_async(hook, distributed)


def watch_async(hook, distributed):
    """The save itself comes later, when training may be some steps further."""
    real = distributed.async_save

    @functools.wraps(real)
    def async_save(*args, **settings):
        path = place_of(settings)
        if not path or hook.off:
            return real(*args, **settings)
        hook.saved_after[os.path.abspath(path)] = hook.training.next_step()
        change_phase(hook, "checkpoint")  # while training waits for the copy
        answer = real(*args, **settings)
        change_phase(hook, "")
        return answer

    distributed.async_save = async_save


def place_of(settings):
    """The directory of a distributed checkpoint; empty: it is none."""
    place = settings.get("checkpoint_id")
    for name in ("storage_writer", "storage_reader"):
        place = place or getattr(settings.get(name), "path", None)
    return os.fspath(place) if isinstance(place, (str, os.PathLike)) else ""


def change_phase(hook, name):
    if threading.current_thread() is threading.main_thread():
        hook.training.phase(name)


def files_of(hook, path, directory):
    """This rank's files: its part of a directory, plus the index for rank 0; they may not exist yet."""
    if not directory and not os.path.isdir(path):
        return [path]
    there = os.listdir(path) if os.path.isdir(path) else ()
    mine = sorted(name for name in there if name.startswith(f"__{hook.slot}_"))
    mine = mine or [f"__{hook.slot}_0.distcp"]
    return [os.path.join(path, name) for name in mine + ([".metadata"] if hook.slot == 0 else [])]


class Write:
    """A save that a fault may make fail, as a disk does."""

    trouble = None

    def alter(self, alteration):
        answer = alteration.get("answer", "ok")
        if answer == "ok":
            return "a save can only fail"
        number = errno.ENOSPC if answer == "no_space" else errno.EIO
        self.trouble = OSError(number, os.strerror(number))
        return None


def one_save(hook, path, save, directory=False, empty=False):
    """`empty`: no tensor of it has an element. A part of a checkpoint may be so; a whole one has written nothing."""
    write = Write()
    hook.injector.at("checkpoint_save", altered=write)
    damages = take(hook, files_of(hook, path, directory))
    change_phase(hook, "checkpoint")
    try:
        for damage, file in damages:
            damage.before_save(file)
        if write.trouble:
            raise write.trouble
        answer = save()
    except BaseException as trouble:  # torch's CheckpointException is not an Exception
        code = code_of(trouble)
        hook.evidence.write("checkpoint.save", path=path, result=code, **shard_of(hook, path, directory))
        raise
    part = part_of(hook, path, directory)
    shard = shard_of(hook, path, directory)
    written = content(part)
    if empty and shard["shards"] == 1:
        written["bytes"] = 0
    hook.evidence.write("checkpoint.save", path=part, result="ok", **written, **shard)
    if hook.watching and not directory:
        hook.readback.after(part, shard)
    harm(hook, damages)
    remember(hook, path, directory)
    change_phase(hook, "")
    return answer


def reasons(trouble):
    """The exception, those behind it, and those of other ranks in torch's CheckpointException."""
    pending, known = [trouble], set()
    while pending:
        one = pending.pop()
        if isinstance(one, tuple):  # (exception, traceback) of a rank
            one = one[0]
        if not isinstance(one, BaseException) or id(one) in known:
            continue
        known.add(id(one))
        yield one
        pending += [one.__cause__, one.__context__]
        failures = getattr(one, "failures", None)
        pending += list(failures.values()) if isinstance(failures, dict) else []


def code_of(trouble):
    """What a save failed with. Ranks save one checkpoint together: that another one was lost is no failure of the
    disk."""
    lost = False
    for one in reasons(trouble):
        if isinstance(one, OSError) and not isinstance(one, ConnectionError):
            return "no_space" if one.errno == errno.ENOSPC else "system_error"
        lost = lost or any(words in str(one) for words in LOST)
    return "remote_error" if lost else "system_error"


def code_of_load(trouble):
    """What a load failed with: the file is not there, it cannot be read, or what it holds does not fit."""
    codes = set()
    for one in reasons(trouble):
        if isinstance(one, FileNotFoundError):
            codes.add("not_found")
        elif isinstance(one, ConnectionError):
            continue
        elif isinstance(one, UNREADABLE) or any(words in str(one) for words in BROKEN):
            codes.add("invalid_argument" if "Unsupported" in str(one) else "corrupt")  # weights_only refuses a type
    return next((code for code in ("not_found", "corrupt") if code in codes), "invalid_argument")


UNREADABLE = (EOFError, OSError, pickle.UnpicklingError, struct.error, zipfile.BadZipFile, zlib.error)
BROKEN = (  # of torch's reader of archives, its index of a distributed checkpoint, and safetensors
    *("PytorchStreamReader", "archive is corrupted", "unexpected EOF", "truncated", "metadata is None"),
    *("rror while deserializing header", "HeaderTooLarge", "InvalidHeader", "storage has wrong byte size"),
)
LOST = ("onnection closed by", "onnection reset by", "Timed out waiting", "NCCL error", "Connection was likely closed")


def part_of(hook, path, directory):
    """What this rank writes or reads. One that has no part of a distributed checkpoint, since others write what it has
    too, leaves an empty file or none: then it is the index."""
    files = files_of(hook, path, directory) or [path]
    index = os.path.join(path, ".metadata")
    has_part = os.path.isfile(files[0]) and os.path.getsize(files[0]) > 0
    return index if directory and not has_part and os.path.isfile(index) else files[0]


def remember(hook, path, directory):
    written = [file for file in files_of(hook, path, directory) if os.path.isfile(file)]
    hook.injector.levers.saved.update(map(identity, written))


def harm(hook, damages):
    """A damage that found nothing waits for the next file."""
    levers = hook.injector.levers
    for damage, file in damages:
        done = os.path.isfile(file) and damage.at_rest(file)
        if not done and damage not in levers.damages:
            levers.damages.append(damage)


def one_load(hook, path, load, directory=False):
    hook.injector.at("checkpoint_load")
    files = files_of(hook, path, directory)
    part = part_of(hook, path, directory)
    if os.path.exists(path):
        harm(hook, take(hook, [file for file in files if os.path.isfile(file)], reads=True))
    seen, shard = {}, shard_of(hook, path, directory)
    change_phase(hook, "checkpoint")
    try:
        seen = content(part)
        answer = load()
    except BaseException as trouble:
        hook.evidence.write("checkpoint.load", path=part, result=code_of_load(trouble), **seen, **shard)
        raise
    hook.evidence.write("checkpoint.load", path=part, result="ok", **seen, **shard)
    hook.training.loaded(answer, step_in(path))
    change_phase(hook, "")
    return answer


def take(hook, files, reads=False):
    """Waiting damages that fit one of these files, each with the first that fits; those that do not last are
    removed. If all ranks read one file, only its owner damages it."""
    levers = hook.injector.levers

    def fits(damage, file):
        return damage.fits(file) and not (reads and damage.path and storage.owner(file) != hook.slot)

    fitting = []
    for damage in levers.damages:
        file = next((file for file in files if fits(damage, file)), None)
        if file:
            fitting.append((damage, file))
    taken = [damage for damage, _ in fitting if damage.what not in storage.LASTING]
    levers.damages = [damage for damage in levers.damages if damage not in taken]
    return fitting


WHOLE = 64 << 20  # a file up to this size is read whole, a larger one in parts at fixed places
PART = 1 << 20


def content(path):
    if not os.path.isfile(path):
        return {}
    state = hashlib.blake2b(digest_size=8)
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        parts = WHOLE // PART
        places = [at * (size - PART) // (parts - 1) for at in range(parts)]
        if size <= WHOLE:
            places = range(0, size, PART)
        for place in places:
            file.seek(place)
            state.update(file.read(PART))
    return {"bytes": size, "digest": int.from_bytes(state.digest(), "little")}


def step_in(path):
    found = re.findall(r"(?:step|iter)[a-z]*[_-]?(\d+)", path)
    return int(found[-1]) if found else None


def shard_of(hook, path, directory):
    """Step and shard of a file. The step is counted where this rank trains: names of files count from 0 or from 1, as
    programs like it. The shard is that of the name: step9/shard1of4.pt, zero_pp_rank_1_mp_rank_00.pt. In a directory
    that all ranks write, each rank's part is a shard. The name or the directory tells how many there are:
    model.pt, which one rank writes for all, lacks no other."""
    import torch.distributed as dist

    said = re.search(r"(?:shard|rank)[_-]?(\d+)(?:of(\d+))?[^/]*$", path)
    shard = int(said[1]) if said else hook.slot if directory else 0
    shards = int(said[2]) if said and said[2] else shard + 1
    if directory and dist.is_initialized():
        shards = dist.get_world_size()
    return {"shard": shard, "shards": shards, "step": step_of(hook, path)}


def is_counted(hook, path):
    """Whether the count of steps belongs to this save. A thread of the program's own may be some steps behind."""
    return os.path.abspath(path) in hook.saved_after or threading.current_thread() is threading.main_thread()


def step_of(hook, path):
    if os.path.abspath(path) in hook.saved_after:
        return hook.saved_after[os.path.abspath(path)] - 1
    if is_counted(hook, path) and hook.training.began and hook.training.next_step() > 0:
        return hook.training.next_step() - 1
    step = step_in(path)
    return hook.step if step is None else step
