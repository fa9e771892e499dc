# inject/standin/operators/python/deadrank_operators/extensions.py — Extensions of frameworks whose kernels are few and
# known, written out of torch's operators. All other extensions are refused by the name of their kernel.
import importlib.machinery
import sys
import types

import torch

from . import triton_interpreter


@torch.no_grad()
def multi_tensor_adam(chunk, skipped, lists, lr, beta1, beta2, epsilon, step, mode, corrects_bias, decay):
    """DeepSpeed 0.9 to 0.19, csrc/adam/multi_tensor_adam.cu. `lists`: gradients, parameters, first and second moments.
    `mode`: 0 adds the decay to the gradient, 1 to the update. The kernel computes in float, whatever the tensors are."""
    correction1 = 1 - beta1**step if corrects_bias else 1.0
    correction2 = 1 - beta2**step if corrects_bias else 1.0
    for tensors in zip(*lists):
        gradient, parameter, first, second = (tensor.float() for tensor in tensors)
        if mode == 0:
            gradient = gradient + decay * parameter
        first = beta1 * first + (1 - beta1) * gradient
        second = beta2 * second + (1 - beta2) * gradient * gradient
        update = (first / correction1) / ((second / correction2).sqrt() + epsilon)
        if mode == 1:
            update = update + decay * parameter
        for tensor, value in zip(tensors[1:], (parameter - lr * update, first, second)):
            tensor.copy_(value)


def deepspeed_fused_adam(module):
    """A config's "Adam" and "AdamW" are FusedAdam on a GPU. Its builder would ask for nvcc."""
    kernels = types.SimpleNamespace(multi_tensor_adam=multi_tensor_adam)
    module.FusedAdamBuilder.load = lambda self, verbose=True: kernels
    module.FusedAdamBuilder.is_compatible = lambda self, verbose=False: True


CHANGES = {"deepspeed.ops.op_builder.fused_adam": deepspeed_fused_adam, **triton_interpreter.CHANGES}


class Finder:
    """Lets the other finders find the module, and changes it after its execution."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        change = CHANGES.get(name)
        spec = importlib.machinery.PathFinder.find_spec(name, path, target) if change else None
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            change(module)

        spec.loader.exec_module = exec_module
        return spec


def install():
    sys.meta_path.insert(0, Finder)
