# sim/managed/python/deadrank/__init__.py — What a program may say of itself to deadrank. Each function does nothing
# in a process that deadrank does not run, so a program may keep them.
import contextlib

from .channel import BLOCK, PHASE, RECORD, SEAM, here

__all__ = ["block", "check", "digest", "loss", "phase", "samples", "seam"]

PHASES = ("data", "forward", "backward", "reduce", "optimizer", "checkpoint")


def check(condition, text="", **values):
    """States what has to hold: a failed check is evidence, and the program goes on."""
    if here.channel is not None:
        record("check", ok=bool(condition), text=str(text), values={k: plain(v) for k, v in values.items()})
    return bool(condition)


def digest(name, value, group=""):
    """States something that replicas must have in common: a tensor, a number, or text."""
    if here.channel is not None:
        from .observers import digest_of, step

        record("parameters.digest", step=step(), digest=digest_of(value), group=str(group), name=str(name))


def loss(value):
    """States the loss of this step."""
    if here.channel is not None:
        from .observers import tell_loss

        tell_loss(float(value))


def samples(indices, epoch=0):
    """States which samples this rank takes next."""
    if here.channel is not None:
        from .observers import step

        indices = [int(one) for one in indices]
        if indices:
            said = ",".join(map(str, indices))
            first, count = indices[0], len(indices)
            record("data.batch", step=step(), epoch=epoch, first=first, count=count, samples=said)


@contextlib.contextmanager
def phase(name):
    """What runs inside is one phase of the step: data, forward, backward, reduce, optimizer, or checkpoint."""
    if here.channel is not None:
        here.channel.request(PHASE, str(name).encode())
    try:
        yield
    finally:
        if here.channel is not None:
            here.channel.request(PHASE, b"none")


def seam(name, value):
    """A whole number that a fault may change. Returns the number to go on with."""
    if here.channel is None:
        return value
    return here.channel.ask(SEAM, name=str(name), value=int(value))["value"]


def block(name):
    """Whether to run the block of that name, which a fault may skip: `if block("sync"): …`"""
    if here.channel is None:
        return True
    return bool(here.channel.ask(BLOCK, name=str(name))["run"])


def record(kind, **fields):
    here.channel.tell(RECORD, kind=kind, **fields)


def plain(value):
    return value if isinstance(value, (int, float, str, bool)) else str(value)
