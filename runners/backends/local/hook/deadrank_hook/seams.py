# runners/backends/local/hook/deadrank_hook/seams.py — Named values and blocks of a subject that a fault may
# bend or skip. Some names mean the same in every PyTorch program; the others are functions that the subject's
# manifest names.
import functools
import importlib
import sys

from . import imports

RATES = ("optimizer.learning_rate", "optimizer.base_rate")
EVERYWHERE = (
    *RATES,
    "model.seed",
    "sampler.shard",
    "sampler.seed",
    "sampler.replicas",
    "sampler.batch",
    "optimizer.step",
)


def rates(hook):
    """Rates that live in an optimizer; one that the program shows as a function is bent there."""
    return [name for name in RATES if name not in hook.plan.get("seams", {})]


def known(hook, name):
    return name in EVERYWHERE or name in hook.plan.get("seams", {})


def install(hook, levers):
    """Watches the manifest's functions, `module.function` or `module.Class.function`, once loaded."""
    for name, target in hook.plan.get("seams", {}).items():
        module = target.split(".")[0]
        imports.after(module, functools.partial(watch_function, hook, levers, name, target))
    watch_seed(hook, levers)


def watch_function(hook, levers, name, target):
    module, *path = target.split(".")
    owner = sys.modules.get(module) or importlib.import_module(module)
    for part in path[:-1]:
        owner = getattr(owner, part)
    real = getattr(owner, path[-1])

    @functools.wraps(real)
    def passed(*args, **settings):
        hook.injector.at(name)
        if name in levers.skipped:
            return None
        value = real(*args, **settings)
        return levers.bent(name, value) if isinstance(value, (int, float)) else value

    setattr(owner, path[-1], passed)


def watch_seed(hook, levers):
    import torch

    real = torch.manual_seed

    @functools.wraps(real)
    def manual_seed(seed):
        hook.injector.at("model.seed")
        return real(levers.bent("model.seed", int(seed)))

    torch.manual_seed = torch.random.manual_seed = manual_seed


def begun(hook, optimizer):
    """Applies a bend that came before this optimizer was made."""
    for seam in rates(hook):
        if seam in hook.injector.levers.bends:
            for group in optimizer.param_groups:
                group["lr"] = hook.injector.levers.bent(seam, group["lr"])


def changed(hook, levers, seam):
    """Changes values that live in an object rather than in a call."""
    if seam in rates(hook):
        for optimizer in getattr(hook, "optimizers", ()):
            for group in optimizer.param_groups:
                group["lr"] = levers.bent(seam, group["lr"])
