# runners/backends/local/hook/deadrank_hook/alterations.py — How a fault alters one call: left out, exchanged,
# resized, retyped, misdirected. The subject's own tensor is never resized: another one is sent in its place,
# and the result copied back.
import time

from . import sockets

TORCH_DTYPES = {
    "i8": "int8",
    "i32": "int32",
    "i64": "int64",
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
}


def apply(call, alteration):
    """Returns a sentence if the call cannot be altered that way."""
    import torch

    time.sleep(alteration.get("delay", 0) / 1e9)
    call.skipped = alteration.get("skip", False)
    call.held = alteration.get("hold", False)
    call.never = alteration.get("never_completes", False)
    if alteration.get("answer", "ok") != "ok":
        failure = getattr(torch.distributed, "DistBackendError", RuntimeError)
        trouble = failure(f"{call.op}: the library answered {alteration['answer']}")
        call.refused(trouble, alteration["answer"])
        raise trouble
    if alteration.get("root", -1) >= 0:
        if not call.directed:
            return f"{call.op} has no root"
        call.values[call.directed] = alteration["root"]
    if alteration.get("reduce", "none") != "none":
        if "op" not in call.values:
            return f"{call.op} reduces nothing"
        name = {"prod": "PRODUCT"}.get(alteration["reduce"], alteration["reduce"].upper())
        call.values["op"] = getattr(torch.distributed.ReduceOp, name)
    return alter_tensor(call, alteration, torch)


def alter_tensor(call, alteration, torch):
    count = alteration.get("count_set", -1)
    if count < 0 and alteration.get("count_change", 0):
        count = call.count() + alteration["count_change"]
    dtype = alteration.get("dtype", "none")
    other_op = alteration.get("op", "none")
    if (count >= 0 or dtype != "none") and not swap_tensor(call, max(0, count), dtype, torch, count >= 0):
        return f"{call.op} has no single tensor that could be exchanged"
    if other_op not in ("none", call.op):
        return become(call, other_op, torch)
    bit = alteration.get("flip_bit", -1)
    if bit >= 0 and alteration.get("flip_on_the_way"):
        return flip_on_the_way(call, bit, torch)
    if bit >= 0 and alteration.get("flip_received"):
        call.flip_received = bit
    elif bit >= 0:
        if not isinstance(call.values.get(call.counted), torch.Tensor):
            return f"{call.op} carries no single tensor"
        flip(call.values[call.counted], bit)
    return None


def flip_on_the_way(call, bit, torch):
    """The library below gloo flips it in this call's first message; the subject's tensor is not touched."""
    tensor = call.tensor()
    if not isinstance(tensor, torch.Tensor):
        return f"{call.op} carries no tensor"
    refused = sockets.flip_next(place_of(bit, tensor))
    call.flips_below = refused is None
    return refused


def swap_tensor(call, count, dtype, torch, resize):
    own = call.values.get(call.counted)
    if not isinstance(own, torch.Tensor):
        return False
    other = own.detach().reshape(-1).clone()
    if resize:
        other = (
            other[:count].clone()
            if count <= other.numel()
            else torch.nn.functional.pad(other, (0, count - other.numel()))
        )
    if dtype != "none":
        other = other.to(getattr(torch, TORCH_DTYPES[dtype]))
    call.values[call.counted] = other
    call.restore = (own, other)
    return True


def become(call, op, torch):
    """The rank calls another collective on the same tensor, as after a wrong branch."""
    import torch.distributed as dist

    tensor, group = call.tensor(), call.group()
    issue = {
        "all_reduce": lambda: real(dist.all_reduce)(tensor, group=group),
        "broadcast": lambda: real(dist.broadcast)(tensor, first_of(group), group=group),
        "reduce": lambda: real(dist.reduce)(tensor, first_of(group), group=group),
        "all_gather": lambda: real(dist.all_gather_into_tensor)(tensor, tensor, group=group),
        "barrier": lambda: real(dist.barrier)(group=group),
    }.get(op)
    if tensor is None or issue is None:
        return f"{call.op} cannot become {op} here"
    call.op, call.directed = op, ""
    call.real = lambda *args, **settings: issue()
    return None


def real(function):
    return getattr(function, "__wrapped__", function)


def first_of(group):
    import torch.distributed as dist

    return 0 if group is None else dist.get_process_group_ranks(group)[0]


def flip(tensor, bit):
    """Flips one bit of one element. Plans count 64 bits each; a narrower element takes the bit at the same
    relative position."""
    import torch

    flat = tensor.detach().reshape(-1)
    if flat.numel() == 0 or flat.data_ptr() != tensor.data_ptr():
        return
    place = place_of(bit, flat)
    data = flat.view(torch.uint8)
    data[place // 8] ^= 1 << (place % 8)


def place_of(bit, tensor):
    """The position of a plan's bit in the tensor's memory."""
    width = tensor.element_size()
    return (bit // 64) % tensor.numel() * width * 8 + bit % 64 * width // 8
