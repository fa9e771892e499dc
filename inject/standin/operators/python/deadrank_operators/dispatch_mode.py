# inject/standin/operators/python/deadrank_operators/dispatch_mode.py — The slower way, without a compiler:
# a dispatch mode computes each operator on CPU views of the same memory.
#
# It covers the main thread, and backward passes that it starts. Attention is written out, so its last
# digits differ from those of the fused kernel of the CPU. Random operators continue the CPU generator's
# sequence, and sparse tensors are refused.
import ctypes

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from . import catalog, written_out

ALLOCATE = frozenset("empty empty_like new_empty new_empty_strided lift_fresh".split())
KEPT = ALLOCATE | {name.partition(".")[0] for name in catalog.KEPT}

SPARSE = "deadrank: sparse cuda tensors need the compiled operators. Install g++, or use dense tensors."

_mode = None


def install():
    global _mode
    # Attention is written out: the CPU's fused kernel has another name.
    torch.backends.cuda.enable_flash_sdp(False)
    torch.backends.cuda.enable_mem_efficient_sdp(False)
    torch.backends.cuda.enable_cudnn_sdp(False)
    written_out.install()
    torch.cuda.CUDAGraph.capture_begin = refuse_graph
    _mode = HostMode()
    _mode.__enter__()


def refuse_graph(*arguments, **settings):
    raise NotImplementedError("deadrank: CUDA graphs need the compiled operators. Install g++, or run without graphs.")


def changes_metadata_alone(operator):
    """Views launch no kernel, so CUDA's own are right."""
    returns = operator._schema.returns
    is_view = bool(returns) and returns[0].alias_info is not None and not returns[0].alias_info.is_write
    return is_view or torch.Tag.inplace_view in operator.tags


def host_view(tensor):
    storage = tensor.untyped_storage()
    size = storage.nbytes()
    if size == 0:
        return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype)
    memory = torch.frombuffer((ctypes.c_char * size).from_address(storage.data_ptr()), dtype=torch.uint8)
    view = torch.empty(0, dtype=tensor.dtype)
    view.set_(memory.untyped_storage(), tensor.storage_offset(), tensor.shape, tensor.stride())
    view = view.conj() if tensor.is_conj() else view
    return torch._neg_view(view) if tensor.is_neg() else view


class HostMode(TorchDispatchMode):
    def __torch_dispatch__(self, operator, types, arguments=(), keywords=None):
        keywords = keywords or {}
        namespace, _, name = operator._schema.name.partition("::")
        if namespace != "aten" or name in KEPT or changes_metadata_alone(operator):
            return operator(*arguments, **keywords)
        if name in written_out.KERNELS:
            with self:  # what it is written out of comes here again
                return written_out.KERNELS[name](*arguments, **keywords)
        call = HostCall()
        lowered, lowered_keywords = tree_map(call.lower, (arguments, keywords))
        if call.device is None:
            return operator(*arguments, **keywords)
        if name != "copy_":
            call.check_devices()
        torch.cuda.current_stream(call.device).synchronize()
        result = operator(*lowered, **lowered_keywords)
        call.write_back()
        to_host = (
            name == "_to_copy" and keywords.get("device") is not None and keywords["device"].type == "cpu"
        )
        return result if to_host else tree_map(call.raise_, result)


class HostCall:
    def __init__(self):
        self.device = None
        self.views = {}  # id of the cuda tensor -> (host view, cuda tensor)
        self.own = set()  # ids of CPU arguments, which stay themselves
        self.devices = set()

    def check_devices(self):
        if len(self.devices) > 1:
            first, second = sorted(map(str, self.devices), reverse=True)[:2]
            raise RuntimeError(
                "Expected all tensors to be on the same device, but found at least two devices, "
                f"{first} and {second}!"
            )

    def lower(self, value):
        if isinstance(value, torch.device) and value.type == "cuda":
            self.device = self.device or value
            return torch.device("cpu")
        if not isinstance(value, torch.Tensor):
            return value
        self.devices.update([value.device] if value.dim() > 0 or value.is_cuda else [])
        if not value.is_cuda:
            self.own.add(id(value))
            return value
        if value.layout != torch.strided:
            raise NotImplementedError(SPARSE)
        self.device = self.device or value.device
        if id(value) not in self.views:
            self.views[id(value)] = (host_view(value), value)
        return self.views[id(value)][0]

    def write_back(self):
        """What the operator resized on the host is resized on the device."""
        for host, device in self.views.values():
            if host.shape == device.shape and host.stride() == device.stride():
                continue
            if host.untyped_storage().data_ptr() == device.untyped_storage().data_ptr():
                device.as_strided_(host.shape, host.stride(), host.storage_offset())
            else:
                device.set_(self.copy_to_device(host))

    def raise_(self, value):
        if not isinstance(value, torch.Tensor) or id(value) in self.own:
            return value
        value = value.resolve_conj().resolve_neg()
        for host, device in self.views.values():
            if host is value:
                return device
        if value.layout != torch.strided:
            raise NotImplementedError(SPARSE)
        address = value.untyped_storage().data_ptr()
        for host, device in self.views.values():
            if value.numel() and host.untyped_storage().data_ptr() == address:
                return device.as_strided(value.shape, value.stride(), value.storage_offset())
        return self.copy_to_device(value)

    def copy_to_device(self, value):
        copy = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=self.device)
        if value.numel() > 0:
            last = sum((size - 1) * stride for size, stride in zip(value.shape, value.stride()))
            ctypes.memmove(copy.data_ptr(), value.data_ptr(), (last + 1) * value.element_size())
        return copy
