# runners/backends/local/subjects/megatron_on_cpu.py — Answers megatron-core's CUDA calls on the CPU. Import
# this before the first module of megatron; `after_start` follows initialize_model_parallel.
import contextlib

import torch
import torch._dynamo  # it takes stock of torch's functions: before we exchange some


class Stream:
    """Work on a CPU is done when the call returns: nothing to wait for."""

    def wait_stream(self, _):
        return None

    def synchronize(self):
        return None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


class ToCpu(torch.overrides.TorchFunctionMode):
    """Literal device="cuda" in megatron's code."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if str(kwargs.get("device", "")).startswith("cuda"):
            kwargs["device"] = "cpu"
        if function is torch.Tensor.to and len(args) > 1 and str(args[1]).startswith("cuda"):
            args = (args[0], "cpu", *args[2:])
        return function(*args, **kwargs)


def nothing(*_, **__):
    return None


def itself(thing, *_, **__):
    return thing


def uncompiled(function=None, **_):
    """torch.compile would load its compiler for seconds, for functions of a few lines."""
    return function if function is not None else itself


def install():
    torch.compile = uncompiled
    torch.Tensor.cuda = torch.nn.Module.cuda = itself
    cuda = torch.cuda
    cuda.current_device = lambda: torch.device("cpu")
    cuda.device_count = lambda: 0
    cuda.synchronize = cuda.set_device = cuda.empty_cache = nothing
    cuda.nvtx.range_push = cuda.nvtx.range_pop = nothing
    cuda.current_stream = lambda *_: Stream()
    cuda.stream = lambda *_: contextlib.nullcontext()
    cuda.get_rng_state = lambda *_: torch.get_rng_state()
    cuda.set_rng_state = lambda state, *_: torch.set_rng_state(state)
    cuda.manual_seed = lambda seed: torch.manual_seed(seed)
    ToCpu().__enter__()


def after_start(seed):
    from megatron.core.tensor_parallel import random

    random._set_cuda_rng_state = lambda state, device=-1, graph_safe=False: torch.set_rng_state(state)
    random._get_cuda_rng_state = lambda device="cuda", clone=False, graph_safe=False: torch.get_rng_state()
    random.model_parallel_cuda_manual_seed(seed)
