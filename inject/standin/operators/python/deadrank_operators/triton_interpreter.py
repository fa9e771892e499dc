# inject/standin/operators/python/deadrank_operators/triton_interpreter.py — Triton's own interpreter runs a program's
# Triton kernels on the host, block by block. It copies the tensors of a call to the host and back, which is what the
# call costs in virtual time. What it cannot run (Gluon, inline assembly) raises where it is launched.
# TRITON_INTERPRET=1 is among the variables of simulated GPUs; triton.jit asks for it (2.1 to 3.6).
import sys

import torch
import torch._compile

UNTIMED = (0.0, 0.0, 0.0)
# Functions of NVIDIA's libdevice that torch has under the same name and with the same meaning. Torch's round and
# remainder are others.
SAME_IN_TORCH = frozenset(
    "acos acosh asin asinh atan atan2 atanh ceil copysign cos cosh erf erfc erfinv exp exp2 expm1 floor fmod hypot isinf "
    "isnan lgamma log log10 log1p log2 nextafter pow rsqrt sin sinh sqrt tan tanh trunc".split()
)


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
    convert = module._implicit_cvt

    def _implicit_cvt(argument):
        """A kernel may call methods of a number that it is given, which is a float32 on a GPU (Triton 3.6 leaves it)."""
        if not isinstance(argument, float):
            return convert(argument)
        kind = module.tl.float32
        return module.tl.tensor(module.TensorHandle(module.np.array([argument], dtype="float32"), kind), kind)

    module._implicit_cvt = _implicit_cvt
    patch_tensor = module._patch_lang_tensor

    def _patch_lang_tensor(tensor, scope):
        """numpy 2.4 makes no int of an array with one number in one dimension, which a loop's bound is."""
        patch_tensor(tensor, scope)
        scope.set_attr(tensor, "__index__", lambda self: self.handle.data.item())

    module._patch_lang_tensor = _patch_lang_tensor


def change_autotuner(module):
    """The first configuration is taken: times of the interpreter say nothing about a GPU's."""
    module.Autotuner.do_bench = property(lambda self: lambda kernel_call, quantiles: UNTIMED)
    module.Autotuner.check_disk_cache = lambda self, tuning_key, configs, bench_fn: bench_fn()
    leave_graphs(module.Autotuner, module.Heuristics)


def change_libdevice(module):
    """The interpreter leaves these functions without a value."""
    for name, function in list(vars(module).items()):
        if getattr(function, "__module__", None) == module.__name__ and not name.startswith("_"):
            setattr(module, name, of_torch(name))


def of_torch(name):
    def function(*arguments, _semantic=None):
        import triton.language as tl
        from triton.runtime.interpreter import TensorHandle

        values = [torch.as_tensor(one.handle.data) for one in arguments if isinstance(one, tl.tensor)]
        floats = all(value.dtype in (torch.float32, torch.float64) for value in values)
        if name not in SAME_IN_TORCH or not floats or len(values) != len(arguments):
            raise NotImplementedError(f"deadrank: libdevice.{name} of these arguments has no version on the host")
        value, kind = getattr(torch, name)(*values), arguments[0].type
        if value.dtype == torch.bool:  # libdevice gives an int
            value, kind = value.int(), kind.with_element_ty(tl.int32) if kind.is_block() else tl.int32
        return tl.tensor(TensorHandle(value.numpy(), kind.scalar), kind)

    return function


CHANGES = {
    "triton.language.extra.libdevice": change_libdevice,
    "triton.language.extra.cuda.libdevice": change_libdevice,
    "triton.runtime.interpreter": change_interpreter,
    "triton.runtime.autotuner": change_autotuner,
}
