"""The slower way, without a compiler: a dispatch mode computes each operator on CPU views of the same memory.

It covers the main thread, and backward passes that it starts. Results and random numbers are the same as the
compiled way's, but random operators continue the CPU generator's sequence.
"""

import ctypes

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from . import catalog

VIEWS = frozenset(
    """alias detach t transpose permute expand slice select split split_with_sizes unsqueeze squeeze unbind diagonal
    _unsafe_view empty empty_like new_empty new_empty_strided lift_fresh""".split()
)
KEPT = VIEWS | {name.partition(".")[0] for name in catalog.KEPT}

_mode = None


def install():
    global _mode
    _mode = HostMode()
    _mode.__enter__()


def host_view(tensor):
    storage = tensor.untyped_storage()
    size = storage.nbytes()
    if size == 0:
        return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype)
    memory = torch.frombuffer((ctypes.c_char * size).from_address(storage.data_ptr()), dtype=torch.uint8)
    view = torch.empty(0, dtype=tensor.dtype)
    return view.set_(memory.untyped_storage(), tensor.storage_offset(), tensor.shape, tensor.stride())


class HostMode(TorchDispatchMode):
    def __torch_dispatch__(self, operator, types, arguments=(), keywords=None):
        keywords = keywords or {}
        namespace, _, name = operator._schema.name.partition("::")
        if namespace != "aten" or name in KEPT:
            return operator(*arguments, **keywords)
        call = HostCall()
        lowered, lowered_keywords = tree_map(call.lower, (arguments, keywords))
        if call.device is None:
            return operator(*arguments, **keywords)
        torch.cuda.current_stream(call.device).synchronize()
        result = operator(*lowered, **lowered_keywords)
        call.write_back()
        return tree_map(call.raise_, result)


class HostCall:
    def __init__(self):
        self.device = None
        self.views = {}  # id of the cuda tensor -> (host view, cuda tensor)
        self.own = set()  # ids of CPU arguments, which stay themselves

    def lower(self, value):
        if isinstance(value, torch.device) and value.type == "cuda":
            self.device = self.device or value
            return torch.device("cpu")
        if not isinstance(value, torch.Tensor):
            return value
        if not value.is_cuda:
            self.own.add(id(value))
            return value
        if value.layout != torch.strided:
            raise NotImplementedError(
                "deadrank: sparse cuda tensors need the compiled operators. Install g++, or use dense tensors."
            )
        if self.device is None:
            self.device = value.device
        elif self.device.index is not None and value.device != self.device:
            raise RuntimeError(
                "Expected all tensors to be on the same device, but found at least two devices, "
                f"{self.device} and {value.device}!"
            )
        if id(value) not in self.views:
            self.views[id(value)] = (host_view(value), value)
        return self.views[id(value)][0]

    def write_back(self):
        """What the operator resized on the host is resized on the device."""
        for host, device in self.views.values():
            if host.shape != device.shape:
                device.resize_(host.shape)
                ctypes.memmove(device.data_ptr(), host.data_ptr(), host.nbytes)

    def raise_(self, value):
        if not isinstance(value, torch.Tensor) or id(value) in self.own:
            return value
        for host, device in self.views.values():
            if host is value:
                return device
        address = value.untyped_storage().data_ptr()
        for host, device in self.views.values():
            if value.numel() and host.untyped_storage().data_ptr() == address:
                return device.as_strided(value.shape, value.stride(), value.storage_offset())
        raised = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=self.device)
        if value.numel():
            whole = value.storage_offset() == 0
            size = min(raised.untyped_storage().nbytes(), value.untyped_storage().nbytes() if whole else value.nbytes)
            ctypes.memmove(raised.data_ptr(), value.data_ptr(), size)
        return raised
