# sim/managed/python/deadrank/__init__.py — What a program may tell deadrank of itself. Each function does nothing in
# a process that no simulator runs, so a program may keep them. And `run`, which plays a program under faults (api.py).
from __future__ import annotations

from .channel import BLOCK, PHASE, RECORD, SEAM, here

TYPE_CHECKING = False  # typing's, which ranks need not import
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .api import *  # noqa: F403

API = (
    "Expectation", "Fault", "Finding", "Moment", "NotAsExpected", "Result", "Span", "Trouble", "clear_error", "completes",
    "corrupt_checkpoint", "crash", "cut_link", "delay", "disk_full", "exit_rank", "fail", "fault", "flip", "hang", "kill",
    "limit_memory", "lose_node", "lose_write", "partition", "pause", "preempt", "recovers", "refuses", "resize", "retype",
    "run", "set_env", "skip", "slow", "slow_disk", "slow_link", "stop", "swap_call", "swap_ranks", "tear_write",
    "throttle", "unset", "xid",
)
__all__ = ["block", "check", "digest", "loss", "phase", "samples", "seam", "step", *API]


def __getattr__(name):
    # Ranks need none of it, and import this package in a program that may have replaced what it uses.
    if name in API:
        from . import api

        return getattr(api, name)
    raise AttributeError(f"module 'deadrank' has no attribute '{name}'")


def check(name: str, value: float, expected: float) -> None:
    """A number beside what it should be by its definition. Compute `expected` from what the rank really has."""
    if here.channel is not None:
        tell("value.sample", name=str(name), value=number(value), expected=number(expected))


def digest(name: str, tensor: object, group: str = "replica") -> None:
    """What all ranks that name this group should hold alike: a tensor, several, or a plain value."""
    if here.channel is not None:
        from .observers import digest_of

        tell("parameters.digest", digest=digest_of(tensor), group=str(group), name=str(name))


def loss(value: float) -> None:
    """The loss of this step."""
    if here.channel is not None:
        from . import observers

        observers.record_loss(number(value))


def step(number: int | None = None) -> None:
    """A step of the training begins, and the one before it ends. `number`: the program's own count. A program that says
    so is taken at its word: forward passes, backward passes and optimizers begin no step of their own any more."""
    if here.channel is not None:
        from . import observers

        observers.begin_step(None if number is None else int(number))


def samples(ids: Iterable[int], epoch: int = 0, group: str | None = None) -> None:
    """The samples that this rank takes in this step. Ranks that name the same group read the same ones."""
    ids = [int(one) for one in ids]
    if here.channel is None or not ids:
        return
    if group is not None:
        here.channel.tell(RECORD, kind="rank.config", name="data.replica", value=str(group))
    listed = ",".join(map(str, ids))
    tell("data.batch", epoch=int(epoch), first=ids[0], count=len(ids), samples=listed)


class phase:
    """The phase of the step that begins: data, forward, backward, reduce, optimizer, checkpoint, evaluate or serve.
    It ends with the next one, or with the block of `with phase("data"):`."""

    def __init__(self, name: str) -> None:
        begin_phase(str(name))

    def __enter__(self) -> phase:
        return self

    def __exit__(self, *_: object) -> None:
        begin_phase("")


def begin_phase(name):
    if here.channel is not None:
        from .observers import observer

        if observer is not None:
            observer.training.phase(name)
        else:
            here.channel.request(PHASE, name.encode() or b"none")


def seam(name: str, value: int) -> int:
    """A whole number that a fault may change. Returns the number to go on with."""
    if here.channel is None:
        return value
    return here.channel.ask(SEAM, name=str(name), value=int(value))["value"]


def block(name: str) -> bool:
    """Whether to run the block of that name, which a fault may skip: `if block("sync"): ...`"""
    if here.channel is None:
        return True
    return bool(here.channel.ask(BLOCK, name=str(name))["run"])


def tell(kind, **fields):
    from .observers import step

    here.channel.tell(RECORD, kind=kind, step=step(), **fields)


def number(value):
    """nan and inf travel as the evidence writes them. torch warns, on the program's own output, about a tensor that
    requires a gradient and becomes a number."""
    value = float(value.detach() if hasattr(value, "detach") else value)
    return value if value - value == 0 else repr(value)
