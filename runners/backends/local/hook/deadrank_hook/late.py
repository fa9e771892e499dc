# runners/backends/local/hook/deadrank_hook/late.py — A process that only becomes a rank at
# init_process_group: those of torch.multiprocessing.spawn and of Ray get their rank from a function's
# argument. The hook starts there; earlier events are not seen.
import functools
import os
import re
import sys

from . import imports


def wait():
    imports.after("torch.distributed.distributed_c10d", wrap)


def wrap():
    c10d = sys.modules["torch.distributed.distributed_c10d"]
    real = c10d.init_process_group

    @functools.wraps(real)
    def init_process_group(*args, **settings):
        try:
            begin(c10d, real, settings)
        except Exception as trouble:
            print(f"deadrank: the hook did not start: {trouble!r}", file=sys.stderr, flush=True)
        return c10d.init_process_group(*args, **settings)

    c10d.init_process_group = init_process_group


def begin(c10d, real, settings):
    import torch.distributed as dist

    import deadrank_hook

    wrapped, c10d.init_process_group = c10d.init_process_group, real
    if getattr(dist, "init_process_group", None) is wrapped:
        dist.init_process_group = real
    said = {"RANK": settings.get("rank", -1), "WORLD_SIZE": settings.get("world_size", -1)}
    meets = re.match(r"tcp://(.+):(\d+)$", settings.get("init_method") or "")
    if meets:
        said |= {"MASTER_ADDR": meets[1], "MASTER_PORT": meets[2]}
    told = {name: str(value) for name, value in said.items() if value not in (-1, None)}
    told = {**{name: os.environ[name] for name in said if name in os.environ}, **told}
    if "RANK" not in told:
        return
    os.environ["DEADRANK_RANK"], os.environ["DEADRANK_PID"] = told["RANK"], str(os.getpid())
    deadrank_hook.start(told)
