# inject/standin/operators/python/deadrank_operators/refusals.py — What cannot run on a simulated GPU and
# would compute nothing: refused by name, with what to do instead.
import importlib.util
import sys

ATTENTION = "Use torch.nn.functional.scaled_dot_product_attention"
# Packages that bring device code. They are hidden, so that a program which can do without one does so.
PACKAGES = {
    "flash_attn": ATTENTION + " (in transformers: attn_implementation='sdpa').",
    "flash_attn_interface": ATTENTION + ".",
    "xformers": ATTENTION + ".",
    "apex": "Use torch.amp, torch.optim with fused=True, and torch.nn.RMSNorm or LayerNorm.",
    "amp_C": "Use torch.amp and torch.optim with fused=True.",
    "transformer_engine": "Use layers of plain torch (in Megatron: --transformer-impl local).",
    "bitsandbytes": "Use torch.optim.",
    "deep_gemm": "Use torch.matmul.",
    "deep_ep": "Use torch.distributed.all_to_all_single.",
    "cupy": "Use torch.",
}


class HiddenPackage(ModuleNotFoundError):
    """Raised by `import`, so `except ImportError` takes the program's other way."""


class Finder:
    """Stands before all other finders, and refuses the packages."""

    def find_spec(self, name, path=None, target=None):
        if name in PACKAGES:
            raise HiddenPackage(
                f"deadrank: {name} brings kernels for GPUs, which cannot run on a simulated one. "
                f"{PACKAGES[name]}",
                name=name,
            )
        return None


def install():
    sys.meta_path.insert(0, Finder())
    _hide_from_probes()
    _compile_without_inductor()


def _hide_from_probes():
    """Programs probe for a package with importlib.util.find_spec, which must return None."""
    find_spec = importlib.util.find_spec

    def find_spec_of_visible(name, package=None):
        return None if name.split(".")[0] in PACKAGES else find_spec(name, package)

    importlib.util.find_spec = find_spec_of_visible


_noted = False


def _compile_without_inductor():
    """Inductor writes Triton kernels for cuda tensors. aot_eager traces and runs the same graphs."""
    import torch

    def compile_eagerly(self, graph, inputs, **settings):
        global _noted
        if not _noted:
            _noted = True
            print(
                "deadrank: torch.compile uses aot_eager instead of inductor on simulated GPUs, so graphs are "
                "the same and kernels are torch's own",
                file=sys.stderr,
                flush=True,
            )
        from torch._dynamo.backends.debugging import aot_eager

        return aot_eager(graph, inputs)

    wrapper = getattr(torch, "_TorchCompileInductorWrapper", None)
    if wrapper is not None:
        wrapper.__call__ = compile_eagerly
