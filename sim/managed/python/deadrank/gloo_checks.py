# sim/managed/python/deadrank/gloo_checks.py — What torch's ProcessGroupGloo refuses before it calls gloo, in its words
# (ProcessGroupGloo.cpp and Utils.hpp of torch 2.11).
import torch

TYPES = {
    torch.float32: "Float",
    torch.float64: "Double",
    torch.float16: "Half",
    torch.bfloat16: "BFloat16",
    torch.int64: "Long",
    torch.int32: "Int",
    torch.int16: "Short",
    torch.int8: "Char",
    torch.uint8: "Byte",
    torch.bool: "Bool",
    torch.complex64: "ComplexFloat",
    torch.complex128: "ComplexDouble",
}


def refuse(call, why):
    raise RuntimeError(f"ProcessGroupGloo::{call}: {why}")


def sizes(tensor):
    return f"({', '.join(map(str, tensor.shape))})"


def kind(tensor):
    layout = "" if tensor.layout == torch.strided else "Sparse"
    return f"{layout}{tensor.device.type.upper()}{TYPES.get(tensor.dtype, tensor.dtype)}Type"


def check_root(call, root, count, refuse=refuse):
    if not 0 <= root < count:
        refuse(call, f"invalid root rank: {root}")


def check_root_tensor(call, root, tensors):
    if not 0 <= root < len(tensors):
        refuse(call, f"invalid root tensor: {root}")


def check_dense(call, tensors):
    if any(tensor.layout != torch.strided for tensor in tensors):
        refuse(call, "only supports dense tensors")


def check_layouts(call, tensors):
    for place, tensor in enumerate(tensors):
        if tensor.layout != tensors[0].layout:
            refuse(call, f"invalid tensor layout at index {place} (expected {tensors[0].layout}, got {tensor.layout})")


def check_alike(call, tensors, model=None, refuse=refuse):
    """Types, then sizes, against `model` or the first of them."""
    model = tensors[0] if model is None and tensors else model
    for place, tensor in enumerate(tensors):
        if kind(tensor) != kind(model):
            refuse(call, f"invalid tensor type at index {place} (expected {kind(model)}, got {kind(tensor)})")
        if tensor.shape != model.shape:
            refuse(call, f"invalid tensor size at index {place} (expected {sizes(model)}, got {sizes(tensor)})")


def broadcast(tensors, opts, count):
    check_root("broadcast", opts.rootRank, count)
    check_root_tensor("broadcast", opts.rootTensor, tensors)
    check_dense("broadcast", tensors)
    check_alike("broadcast", tensors)


def allreduce(tensors, is_sum):
    if not tensors:
        refuse("allreduce", "requires non-empty tensor list")
    check_layouts("allreduce", tensors)
    check_alike("allreduce", tensors)
    if tensors[0].layout != torch.strided and not is_sum:
        refuse("allreduce", "unsupported reduction operation (allreduce of sparse tensors only works with ReduceOp.SUM)")


def allreduce_coalesced(tensors):
    if not tensors:
        refuse("allreduce_coalesced", "requires non-empty tensor list")
    check_layouts("allreduce_coalesced", tensors)
    if len({tensor.dtype for tensor in tensors}) > 1:
        refuse("allreduce_coalesced", "tensors must all have the same type")
    if len({tensor.device for tensor in tensors}) > 1:
        refuse("allreduce_coalesced", "tensors must all be on the same device")
    if tensors[0].layout != torch.strided:
        refuse("allreduce_coalesced", "unsupported layout")


def reduce(tensors, opts, count):
    check_root("reduce", opts.rootRank, count)
    check_root_tensor("reduce", opts.rootTensor, tensors)
    if len(tensors) != 1:
        refuse("reduce", "requires a single-element tensor list")
    check_dense("reduce", tensors)


def allgather(outputs, inputs, count):
    if not inputs:
        refuse("allgather", "requires non-empty input tensor list")
    if len(inputs) != len(outputs):
        refuse("allgather", "requires input/output tensor lists to have the same length")
    expected = len(inputs) * count
    for place, outs in enumerate(outputs):
        if len(outs) != expected:
            refuse(
                "allgather",
                f"invalid output tensor list at index {place} (expected length {expected}, got {len(outs)})",
            )
    check_dense("allgather", inputs)
    check_alike("allgather", inputs)
    for outs in outputs:
        check_alike("allgather", outs, inputs[0])


def allgather_coalesced(output_lists, inputs, count):
    call = "allgather_coalesced"
    if not inputs:
        refuse(call, "requires non-empty input tensor list")
    if len(output_lists) != count:
        refuse(call, "output lists should be equal to world size")
    check_dense(call, inputs)
    for outs in output_lists:
        if len(outs) != len(inputs):
            refuse(call, f"invalid output size: (expected length {len(inputs)}, got {len(outs)})")
        for place, (out, mine) in enumerate(zip(outs, inputs)):
            if out.shape != mine.shape:
                refuse(
                    call,
                    f"invalid size of output tensor at index {place} (expected length {sizes(mine)}, got {sizes(out)})",
                )
            if kind(out) != kind(mine):
                refuse(call, f"invalid tensor type at index {place} (expected {kind(mine)}, got {kind(out)})")


def gather(outputs, inputs, root, place, count):
    check_root("gather", root, count)
    if len(inputs) != 1:
        refuse("gather", "requires a single-element input tensor list")
    check_dense("gather", inputs)
    check_lists("gather", "output", outputs, inputs[0], root == place, count)


def scatter(outputs, inputs, root, place, count):
    check_root("scatter", root, count)
    if len(outputs) != 1:
        refuse("scatter", "requires a single-element output tensor list")
    check_dense("scatter", outputs)
    check_lists("scatter", "input", inputs, outputs[0], root == place, count)


def check_lists(call, word, lists, model, is_root, count, refuse=refuse):
    """The root gives or takes one list with a tensor for each member, all others none."""
    if not is_root:
        if lists:
            refuse(call, f"requires empty {word} on non-root")
        return
    if len(lists) != 1:
        refuse(call, f"requires a single-element {word} list containing a list with {count} tensors.")
    if len(lists[0]) != count:
        refuse(
            call,
            f"Incorrect {word} list size {len(lists[0])}. {word.capitalize()} list size should be {count}, same as "
            "size of the process group.",
        )
    check_alike(call, lists[0], model, refuse)
