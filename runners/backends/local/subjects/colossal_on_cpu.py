# runners/backends/local/subjects/colossal_on_cpu.py — Answers Colossal-AI's CUDA calls on the CPU, and
# replaces modules that its plugins import for other models by empty ones. Import this before it.
import contextlib
import importlib.abc
import importlib.machinery
import sys
import types

import megatron_on_cpu

UNUSED = (
    *("accelerate", "bitsandbytes", "contexttimer", "diffusers", "fabric", "galore_torch", "google"),
    *("peft", "rpyc", "transformers", "uvicorn", "fastapi", "huggingface_hub", "sentencepiece"),
)


class Unused:
    """Anything that an unused module may hold: a class to inherit from, a function, a decorator."""

    def __init__(self, *_, **__):
        pass

    def __init_subclass__(cls, **_):
        pass


class Empty(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        kind = type(name, (Unused,), {"__module__": self.__name__})
        setattr(self, name, kind)
        return kind


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Asked first: Colossal-AI wants another release of Transformers than the one that may be installed."""

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] not in UNUSED:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return Empty(spec.name)

    def exec_module(self, module):
        module.__version__ = "0"


def install():
    sys.meta_path.insert(0, Finder())
    megatron_on_cpu.install()
    import torch

    torch.Tensor.record_stream = megatron_on_cpu.nothing


def accelerator():
    """A CpuAccelerator that claims to be the one the plugins insist on; its own methods lack a `self`."""
    import colossalai.accelerator.api as api
    import torch
    from colossalai.accelerator.cpu_accelerator import CpuAccelerator

    class Pretender(CpuAccelerator):
        name = "cuda"

        def get_rng_state(self, *_):
            return torch.get_rng_state()

        def set_rng_state(self, state, *_):
            torch.set_rng_state(state)

        def manual_seed(self, seed):
            torch.manual_seed(seed)

        manual_seed_all = manual_seed

        def Stream(self, *_, **__):
            return megatron_on_cpu.Stream()

        current_stream = Stream

        def stream(self, *_):
            return contextlib.nullcontext()

        def synchronize(self, *_):
            return None

        set_device = empty_cache = reset_peak_memory_stats = synchronize

        def current_device(self):
            return torch.device("cpu")

        get_current_device = current_device

        def memory_allocated(self, *_):
            return 0

        max_memory_allocated = memory_allocated

    api._ACCELERATOR = Pretender()
