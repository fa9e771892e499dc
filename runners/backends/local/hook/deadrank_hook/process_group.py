# runners/backends/local/hook/deadrank_hook/process_group.py — Collectives that bypass Python's
# torch.distributed: those of DDP's reducer, the functional collectives, DTensor and native code. Torch calls
# the methods of a process group that is a Python subclass, so every group here is one. Calls made by
# torch.distributed's own functions are known already and pass through.
import functools

from . import later
from .calls import Call, answered
from .groups import inside

# method → operation, the argument whose elements count, the one that names the root or peer, all arguments
METHODS = {
    "allreduce": ("all_reduce", "tensor", "", ("tensor", "options")),
    "allreduce_coalesced": ("all_reduce", "tensor", "", ("tensor", "options")),
    "broadcast": ("broadcast", "tensor", "root", ("tensor", "options")),
    "reduce": ("reduce", "tensor", "root", ("tensor", "options")),
    "allgather": ("all_gather", "tensor", "", ("outputs", "tensor", "options")),
    "_allgather_base": ("all_gather", "tensor", "", ("outputs", "tensor", "options")),
    "allgather_into_tensor_coalesced": ("all_gather", "tensor", "", ("outputs", "tensor", "options")),
    "reduce_scatter": ("reduce_scatter", "tensor", "", ("tensor", "inputs", "options")),
    "_reduce_scatter_base": ("reduce_scatter", "tensor", "", ("tensor", "inputs", "options")),
    "reduce_scatter_tensor_coalesced": ("reduce_scatter", "tensor", "", ("tensor", "inputs", "options")),
    "alltoall_base": ("all_to_all", "tensor", "", ("outputs", "tensor", "sizes", "own_sizes", "options")),
    "alltoall": ("all_to_all", "tensor", "", ("outputs", "tensor", "options")),
    "barrier": ("barrier", "", "", ("options",)),
    "send": ("send", "tensor", "peer", ("tensor", "peer", "tag")),
    "recv": ("recv", "tensor", "peer", ("tensor", "peer", "tag")),
}


BOTH = ("_register_backend", "_set_default_backend", "_set_group_name", "_set_group_desc")


def watch(hook, c10d):
    """False if this torch calls no subclass, or C++ would need the group's store (symmetric memory on CUDA);
    then DDP's buckets are seen by its communication hook."""
    base = c10d.ProcessGroup
    if later.cuda_is_there() or not hasattr(base, "allgather_into_tensor_coalesced"):
        return False

    class Watched(base):
        """Hands the work to a plain group with the same backends. Through `super()` it would be done with the
        interpreter locked, and gloo's thread waits for that lock while it holds what we wait for."""

        def __init__(self, store, rank, size):
            super().__init__(rank, size)
            self.inner = base(store, rank, size)

        def get_group_store(self):
            return self.inner.get_group_store()

    for name in filter(functools.partial(hasattr, base), BOTH):
        setattr(Watched, name, on_both(getattr(base, name)))
    for name, row in METHODS.items():
        if hasattr(base, name):
            seen = hook.observer.below(getattr(base, name), row) if hook.watching else method(hook, name, row)
            setattr(Watched, name, seen)
    Watched.__name__ = Watched.__qualname__ = base.__name__
    try:
        base.__init__(Watched.__new__(Watched), 0, 1)
    except TypeError:
        return False
    c10d.ProcessGroup = Watched
    return True


def on_both(real):
    def call(self, *args, **settings):
        real(self.inner, *args, **settings)
        return real(self, *args, **settings)

    return call


def method(hook, name, row):
    op, counted, directed, names = row

    def call(self, *args, **settings):
        below = getattr(self.inner, name)
        # Calls by torch.distributed are seen there; only C++ passes nothing but positional arguments.
        if inside.call or settings or len(args) > len(names):
            return below(*args, **settings)
        made = hook.calls.made_below(below, (op, counted, directed), self, names, args)
        return below(*args) if made is None else hook.calls.pass_through(made)

    return call


class NativeCall(Call):
    """The same as a call of torch.distributed, with the arguments of the process group's method."""

    def __init__(self, hook, real, shape, group, values):
        self.hook, self.method, self.values, self.own_group = hook, real, values, group
        self.op, self.counted, self.directed = shape
        self.pair = self.op in ("send", "recv")
        self.single = values.get("tensor")
        if isinstance(self.single, (list, tuple)) and len(self.single) == 1:
            values["tensor"] = self.single[0]  # alterations exchange one tensor
        options = values.get("options")
        self.options = options
        for name, field in (("op", "reduceOp"), ("root", "rootRank")):
            if hasattr(options, field):
                values[name] = getattr(options, field)
        self.asynchronous = True
        self.real = None
        self.begin(hook.communicators.of(group))

    def group(self):
        return self.own_group

    def root(self):
        return self.values.get(self.directed, -1) if self.directed else -1

    def call(self):
        if self.real is not None:  # a fault turned it into another operation
            self.real()
            return answered([self.tensor()])
        values = dict(self.values)
        if self.single is not None and values["tensor"] is not self.single:
            whole = isinstance(self.single, (list, tuple)) and not isinstance(values["tensor"], (list, tuple))
            values["tensor"] = [values["tensor"]] if whole else values["tensor"]
        op, root = values.pop("op", None), values.pop("root", None)
        if op is not None:
            self.options.reduceOp = op
        if root is not None:
            self.options.rootRank = root
        return self.method(*values.values())
