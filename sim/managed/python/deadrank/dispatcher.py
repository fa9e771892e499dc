# sim/managed/python/deadrank/dispatcher.py — torch's own groups make each call an operator (c10d::allreduce_), which
# modes of torch's dispatcher see: CommDebugMode counts it, other modes measure or trace. While such a mode is on, a
# simulated call is shown to it as well: the same call over a group in C++ that exchanges nothing. That group also
# refuses arguments of a wrong form in torch's own words.
import functools
import weakref

import torch
import torch.distributed as dist
from torch._C import _distributed_c10d as native
from torch.utils._python_dispatch import _disable_current_modes

CALLS = (
    "allreduce", "allreduce_coalesced", "reduce", "broadcast", "allgather", "_allgather_base", "allgather_coalesced",
    "allgather_into_tensor_coalesced", "all_gather_single", "reduce_scatter", "_reduce_scatter_base",
    "reduce_scatter_tensor_coalesced", "reduce_scatter_single", "alltoall", "alltoall_base", "all_to_all_single",
    "gather", "scatter", "barrier", "send", "recv", "recv_anysource",
)
MESSAGES = ("send", "recv", "recv_anysource")
shadows = weakref.WeakKeyDictionary()  # group → the one that exchanges nothing


def show_calls(kind):
    """Each call of the class `kind` is shown to the modes that are on."""
    for name in CALLS:
        if hasattr(dist.ProcessGroup, name) and name in vars(kind):
            setattr(kind, name, shown(name, vars(kind)[name]))


def shown(name, call):
    operator = getattr(dist.ProcessGroup, name)

    @functools.wraps(call)
    def call_shown(self, *args, **said):
        if not torch._C._len_torch_dispatch_stack():
            if is_odd(args) and name not in MESSAGES:
                operator(shadow_of(self), *args, **said)
            return call(self, *args, **said)
        with _disable_current_modes():
            work = call(self, *args, **said)  # it has taken its inputs, and brings its outputs when it is waited for
            shadow = shadow_of(self)
        operator(shadow, *args, **said)
        return work

    return call_shown


def is_odd(args):
    """Lists of tensors come with options, not with a root alone. An empty list is right for some members only."""
    if len(args) < 2 or not isinstance(args[0], list):
        return False
    return any(type(one) is int or (isinstance(one, list) and not one) for one in args)


def shadow_of(group):
    """`FakeProcessGroup`, `ProcessGroup._register_backend`: 2.4 to 2.15."""
    if group not in shadows:
        rank, size = group.rank(), group.size()
        make = getattr(native.FakeProcessGroup, "_create_internal", native.FakeProcessGroup)
        options = getattr(native.FakeProcessGroup, "Options", None)
        backend = make(rank, size, options()) if options is not None else make(rank, size)
        shadows[group] = shadow = dist.ProcessGroup(dist.HashStore(), rank, size)
        custom = dist.ProcessGroup.BackendType.CUSTOM
        shadow._set_default_backend(custom)
        for device in ("cpu", "cuda"):
            shadow._register_backend(torch.device(device), custom, backend)
    return shadows[group]
