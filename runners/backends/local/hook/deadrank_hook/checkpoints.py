# runners/backends/local/hook/deadrank_hook/checkpoints.py — Checkpoint files as torch.save and torch.load, distributed
# checkpoints, safetensors and Lightning write and read them: bytes and digest.
import errno
import functools
import hashlib
import os
import re
import sys

from . import imports, storage
from .levers import identity


def watch(hook):
    import torch

    save, load = torch.save, torch.load

    @functools.wraps(save)
    def watched_save(obj, f, *args, **settings):  # torch's own names: a program may use them
        path = os.fspath(f) if isinstance(f, (str, os.PathLike)) else path_of_open(f)
        if not path or hook.off:
            return save(obj, f, *args, **settings)

        def saved():
            save(obj, f, *args, **settings)
            if hasattr(f, "flush"):
                f.flush()

        return one_save(hook, path, saved)

    @functools.wraps(load)
    def watched_load(f, *args, **settings):
        path = os.fspath(f) if isinstance(f, (str, os.PathLike)) else ""
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


def path_of_open(file):
    """The path of a file that the program has opened itself; empty for a buffer in memory."""
    name = getattr(file, "name", "")
    return name if isinstance(name, str) and hasattr(file, "fileno") and os.path.isfile(name) else ""


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


def watch_distributed(hook):
    """Distributed checkpoints: a directory in which each rank writes and reads its part."""
    import torch.distributed.checkpoint as distributed

    def watched(real, watch_one):
        @functools.wraps(real)
        def call(*args, **settings):
            path = os.fspath(settings.get("checkpoint_id") or "")
            if not path or hook.off:
                return real(*args, **settings)
            return watch_one(hook, path, lambda: real(*args, **settings), directory=True)

        return call

    distributed.save = watched(distributed.save, one_save)
    distributed.load = watched(distributed.load, one_load)


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


def one_save(hook, path, save, directory=False):
    write = Write()
    hook.injector.at("checkpoint_save", altered=write)
    damages = take(hook, files_of(hook, path, directory))
    hook.training.phase("checkpoint")
    try:
        for damage, file in damages:
            damage.before_save(file)
        if write.trouble:
            raise write.trouble
        answer = save()
    except BaseException as trouble:  # torch's CheckpointException is not an Exception
        code = "no_space" if getattr(trouble, "errno", 0) == 28 else "system_error"
        hook.evidence.write("checkpoint.save", path=path, result=code, **shard_of(hook, path, directory))
        raise
    part = (files_of(hook, path, directory) or [path])[0]
    shard = shard_of(hook, path, directory)
    hook.evidence.write("checkpoint.save", path=part, result="ok", **content(part), **shard)
    if hook.watching and not directory:
        hook.readback.after(part, shard)
    harm(hook, damages)
    remember(hook, path, directory)
    hook.training.phase("")
    return answer


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
    part = files[0] if files else path
    if os.path.exists(path):
        harm(hook, take(hook, [file for file in files if os.path.isfile(file)], reads=True))
    seen, shard = {}, shard_of(hook, path, directory)
    hook.training.phase("checkpoint")
    try:
        seen = content(part)
        answer = load()
    except BaseException as trouble:
        code = "not_found" if isinstance(trouble, FileNotFoundError) else "corrupt"
        hook.evidence.write("checkpoint.load", path=part, result=code, **seen, **shard)
        raise
    hook.evidence.write("checkpoint.load", path=part, result="ok", **seen, **shard)
    hook.training.loaded(answer, step_in(path))
    hook.training.phase("")
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
    """Step and shard of a file, by its name: step9/shard1of4.pt, zero_pp_rank_1_mp_rank_00.pt. In a directory
    that all ranks write, each rank's part is a shard. The name or the directory tells how many there are:
    model.pt, which one rank writes for all, lacks no other."""
    import torch.distributed as dist

    said = re.search(r"(?:shard|rank)[_-]?(\d+)(?:of(\d+))?[^/]*$", path)
    shard = int(said[1]) if said else hook.slot if directory else 0
    shards = int(said[2]) if said and said[2] else shard + 1
    if directory and dist.is_initialized():
        shards = dist.get_world_size()
    step = step_in(path)
    return {"shard": shard, "shards": shards, "step": hook.step if step is None else step}
