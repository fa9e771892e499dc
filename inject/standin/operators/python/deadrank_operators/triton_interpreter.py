# inject/standin/operators/python/deadrank_operators/triton_interpreter.py — Triton's own interpreter runs a program's
# Triton kernels on the host, block by block. It copies the tensors of a call to the host and back, which is what the
# call costs in virtual time. What it cannot run (Gluon, inline assembly) raises where it is launched.
# TRITON_INTERPRET=1 is among the variables of simulated GPUs; triton.jit asks for it (2.1 to 3.6).
import sys

import torch
import torch._compile

UNTIMED = (0.0, 0.0, 0.0)


def install():
    """Before triton is imported. Dynamo and torch's own sparse kernels expect compiled kernels where has_triton()."""
    import torch.utils._triton

    torch.utils._triton.has_triton = lambda: False
    _take_interpreted_kernels()


def _take_interpreted_kernels():
    """torch.library.wrap_triton (since 2.6) knows compiled kernels only."""
    module = sys.modules.get("torch._library.triton")
    if module is None:
        return
    real = module.wrap_triton

    def wrap_triton(triton_kernel):
        from triton.runtime.interpreter import InterpretedFunction

        return triton_kernel if isinstance(triton_kernel, InterpretedFunction) else real(triton_kernel)

    module.wrap_triton = torch.library.wrap_triton = wrap_triton


def leave_graphs(*kinds):
    """Dynamo would trace the interpreter."""
    for kind in kinds:
        kind.run = torch._compile._disable_dynamo(kind.run)  # imports dynamo at the first call


def change_interpreter(module):
    leave_graphs(module.InterpretedFunction)


def change_autotuner(module):
    """The first configuration is taken: times of the interpreter say nothing about a GPU's."""
    module.Autotuner.do_bench = property(lambda self: lambda kernel_call, quantiles: UNTIMED)
    module.Autotuner.check_disk_cache = lambda self, tuning_key, configs, bench_fn: bench_fn()
    leave_graphs(module.Autotuner, module.Heuristics)


CHANGES = {
    "triton.runtime.interpreter": change_interpreter,
    "triton.runtime.autotuner": change_autotuner,
}
