# runners/local/hook/deadrank_hook/checkpoints.py — Checkpoint files as torch.save and torch.load see them:
# bytes and digest.
import functools
import hashlib
import os
import re

from . import storage


def watch(hook):
    import torch

    save, load = torch.save, torch.load

    @functools.wraps(save)
    def watched_save(thing, file, *args, **settings):
        path = os.fspath(file) if isinstance(file, (str, os.PathLike)) else ""
        if not path:
            return save(thing, file, *args, **settings)
        return one_save(hook, path, lambda: save(thing, file, *args, **settings))

    @functools.wraps(load)
    def watched_load(file, *args, **settings):
        path = os.fspath(file) if isinstance(file, (str, os.PathLike)) else ""
        if not path:
            return load(file, *args, **settings)
        return one_load(hook, path, lambda: load(file, *args, **settings))

    torch.save, torch.load = watched_save, watched_load
    torch.serialization.save, torch.serialization.load = watched_save, watched_load


def one_save(hook, path, save):
    hook.injector.at("checkpoint_save")
    damages = take(hook, path)
    hook.training.phase("checkpoint")
    try:
        for damage in damages:
            damage.before_save(path)
        answer = save()
    except Exception as trouble:
        code = "no_space" if getattr(trouble, "errno", 0) == 28 else "system_error"
        hook.evidence.write("checkpoint.save", path=path, result=code, **shard_of(hook, path))
        raise
    hook.evidence.write("checkpoint.save", path=path, result="ok", **content(path), **shard_of(hook, path))
    for damage in damages:
        damage.at_rest(path)
    hook.training.phase("")
    return answer


def one_load(hook, path, load):
    hook.injector.at("checkpoint_load")
    if os.path.exists(path):
        for damage in take(hook, path):
            damage.at_rest(path)
    seen = {}
    hook.training.phase("checkpoint")
    try:
        seen = content(path)
        answer = load()
    except Exception as trouble:
        code = "not_found" if isinstance(trouble, FileNotFoundError) else "corrupt"
        hook.evidence.write("checkpoint.load", path=path, result=code, **seen, **shard_of(hook, path))
        raise
    hook.evidence.write("checkpoint.load", path=path, result="ok", **seen, **shard_of(hook, path))
    hook.training.loaded(answer)
    hook.training.phase("")
    return answer


def take(hook, path):
    levers = hook.injector.levers
    fitting = [damage for damage in levers.damages if damage.fits(path)]
    levers.damages = [
        damage for damage in levers.damages if damage not in fitting or damage.what in storage.LASTING
    ]
    return fitting


def content(path):
    with open(path, "rb") as file:
        data = file.read()
    return {
        "bytes": len(data),
        "digest": int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little"),
    }


def shard_of(hook, path):
    """Which step and shard a file holds, by its name: step9/shard1of4.pt, iter_9/mp_rank_01/…; else ours."""
    import torch.distributed as dist

    shard = re.search(r"(?:shard|rank)[_-]?(\d+)(?:of(\d+))?[^/]*$", path)
    step = re.search(r"(?:step|iter)[a-z]*[_-]?(\d+)", path)
    return {
        "shard": int(shard[1]) if shard else hook.slot,
        "shards": (
            int(shard[2]) if shard and shard[2] else dist.get_world_size() if dist.is_initialized() else 1
        ),
        "step": int(step[1]) if step else hook.step,
    }
