# sim/managed/python/deadrank/nccl_checks.py — What torch's ProcessGroupNCCL refuses before it calls NCCL, in its words
# (ProcessGroupNCCL.cpp of torch 2.11).
import torch

from . import gloo_checks


def refuse(call, why):
    raise ValueError(f"ProcessGroupNCCL::{call}: {why}")


def gather(outputs, inputs, root, place, count):
    gloo_checks.check_root("gather", root, count, refuse)
    gloo_checks.check_lists("gather", "output", outputs, inputs[0], root == place, count, refuse)


def scatter(outputs, inputs, root, place, count):
    gloo_checks.check_root("scatter", root, count, refuse)
    gloo_checks.check_lists("scatter", "input", inputs, outputs[0], root == place, count, refuse)


def allgather_base(output, tensor, count):
    if output.dtype != tensor.dtype:
        raise TypeError("output tensor must have the same type as input tensor")
    if output.numel() != tensor.numel() * count:
        raise ValueError("output tensor size must be equal to world_size times input tensor size")


def reduce_scatter_base(output, tensor, count):
    if output.dtype != tensor.dtype:
        raise TypeError("input tensor must be the same type as the output tensor.")
    if tensor.numel() != output.numel() * count:
        raise ValueError("input tensor must be the same size as output size times world size")


def alltoall(outputs, inputs):
    if len({tensor.device for tensor in (*outputs, *inputs)}) > 1:
        raise RuntimeError("Tensors must be on the same device")


def allreduce(tensors):
    one_tensor(tensors)
    if tensors[0].layout != torch.strided:
        raise RuntimeError("NCCL does not support all_reduce with sparse tensors. Please use dense tensors instead.")


def one_tensor(tensors):
    if len(tensors) != 1:
        raise RuntimeError(
            "Expecting one tensor only but got multiple. You are probably using multiple devices under one thread. "
            "The support for such usage has been deprecated. For details, please refer to "
            "https://pytorch.org/docs/stable/distributed.html#multi-gpu-collective-functions. ProcessGroupNCCL "
            "continues supporting multi-process and multi-thread modes."
        )
