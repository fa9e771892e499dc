# inject/standin/operators/python/deadrank_operators/__init__.py — Operators of cuda tensors that compute on
# the host, for processes in which deadrank's stand-in is CUDA.
#
# install() is called once, after torch is imported and before CUDA is initialised. sitecustomize.py beside
# this package calls it. A process may fork afterwards; each child initialises CUDA itself.
import ctypes
import os
import sys

_installed = None


def standin_is_loaded():
    """Returns whether the CUDA runtime of this process is the stand-in."""
    return hasattr(ctypes.CDLL(None), "deadrank_time_is_virtual")


def install():
    """Overrides the operators, and returns how: "compiled", "dispatch", or None where nothing is to be done.

    DEADRANK_OPERATORS chooses: "compiled" (the default), "dispatch" (slower, needs no compiler) or "off".
    """
    global _installed
    choice = os.environ.get("DEADRANK_OPERATORS", "compiled")
    if _installed or choice == "off" or not standin_is_loaded():
        return _installed
    if choice not in ("compiled", "dispatch"):
        raise ValueError(f"DEADRANK_OPERATORS={choice}: choose compiled, dispatch or off")
    import torch

    if not torch.version.cuda:
        _say("this torch was built without CUDA, so it sees no simulated GPU. Install torch's CUDA build.")
        return None
    from . import extensions, refusals, sleep, triton_interpreter

    refusals.install()
    triton_interpreter.install()
    extensions.install()
    sleep.install()
    _installed = _install_compiled() if choice == "compiled" else _install_dispatch()
    return _installed


def _install_compiled():
    import torch

    from . import build, catalog, written_out

    try:
        library = build.find_or_build()
    except build.BuildError as trouble:
        _say(f"{trouble} Operators of cuda tensors run the slower way, about 40 µs each.")
        return _install_dispatch()
    torch.ops.load_library(library)
    catalog.override_all()
    written_out.install()
    return "compiled"


def _install_dispatch():
    from . import dispatch_mode

    dispatch_mode.install()
    return "dispatch"


def _say(text):
    print(f"deadrank: {text}", file=sys.stderr, flush=True)
