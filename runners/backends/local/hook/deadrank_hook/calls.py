# runners/backends/local/hook/deadrank_hook/calls.py — One call of torch.distributed: what the evidence
# records of it, and how a fault alters it.
import functools
import inspect
import time

from . import sockets
from .evidence import code_of

DTYPES = {
    "torch.int8": "i8",
    "torch.uint8": "i8",
    "torch.int32": "i32",
    "torch.int64": "i64",
    "torch.float16": "f16",
    "torch.bfloat16": "bf16",
    "torch.float32": "f32",
    "torch.float64": "f64",
}
REDUCE_OPS = {"SUM": "sum", "AVG": "avg", "MAX": "max", "MIN": "min", "PRODUCT": "prod"}


def answered(tensors):
    """The work of an asynchronous call when nothing is left to wait for: of torch's own type, since DDP and
    the functional collectives hand it to C++."""
    import torch
    import torch._C._distributed_c10d as library

    future = torch.futures.Future()
    future.set_result(tensors)
    make = getattr(library, "_create_work_from_future", None)
    return make(future) if make else Answered(future)


class Answered:
    """The same for a torch that cannot make work from a future."""

    def __init__(self, future):
        self.future = future

    def wait(self, timeout=None):
        return True

    def is_completed(self):
        return True

    is_success = is_completed

    def get_future(self):
        return self.future


@functools.cache
def parameters_of(real):
    """Names in their order, and what torch takes for those that are not given."""
    known = inspect.signature(real).parameters
    return list(known), {name: one.default for name, one in known.items() if one.default is not one.empty}


def bound(real, args, settings):
    names, usual = parameters_of(real)
    if len(args) > len(names):
        raise TypeError(f"{real.__name__} takes {len(names)} arguments")
    return {**usual, **dict(zip(names, args)), **settings}


@functools.cache
def name_of_op(op):
    """`op`: one of torch's words, or the object that C++ makes of it, which is equal to it."""
    return REDUCE_OPS.get(str(getattr(op, "op", op)).rsplit(".", maxsplit=1)[-1], "none")


class Call:
    def __init__(self, hook, real, shape, pair, args, settings):
        self.hook, self.real, self.pair = hook, real, pair
        self.op, self.counted, self.directed = shape
        self.values = bound(real, args, settings)
        self.asynchronous = self.values.get("async_op", False)
        self.begin(hook.communicators.of(self.group()))

    def begin(self, comm):
        self.comm = comm
        self.skipped = self.held = self.never = self.flips_below = False
        self.flip_received = self.fault = -1
        self.named = None, "none"  # the reduction, and our word for it
        self.restore = None  # the subject's own tensor and the one that a fault put in its place

    # --- what is recorded of it
    def group(self):
        return self.values.get("group")

    def tensor(self):
        thing = self.values.get(self.counted)
        return thing[0] if isinstance(thing, (list, tuple)) and thing else thing

    def count(self):
        thing = self.values.get(self.counted)
        many = thing if isinstance(thing, (list, tuple)) else [thing]
        return sum(tensor.numel() for tensor in many if tensor is not None)

    def root(self):
        import torch.distributed as dist

        group = self.group()
        inner = self.values.get("group_" + self.directed)
        root = self.values.get(self.directed) if self.directed else None
        if inner is not None:
            return inner
        if root is None:
            return -1
        return (
            root if group is None or not hasattr(dist, "get_group_rank") else dist.get_group_rank(group, root)
        )

    def reduce(self):
        op = self.values.get("op")
        if op is not self.named[0]:  # hashing one of torch's takes longer than all else here
            self.named = op, name_of_op(op)
        return self.named[1]

    def dtype(self):
        tensor = self.tensor()
        return DTYPES.get(str(tensor.dtype), "none") if tensor is not None else "none"

    def enter(self):
        if self.pair:
            self.comm.pairs += 1
            self.number = self.comm.pairs
            self.hook.evidence.write(
                "p2p.enter",
                comm=self.comm.number,
                seq=self.number,
                count=self.count(),
                peer=self.root(),
                tag=self.values.get("tag", 0),
                op=self.op,
                dtype=self.dtype(),
            )
        else:
            self.comm.calls += 1
            self.number = self.comm.calls
            self.hook.evidence.write(
                "collective.enter",
                comm=self.comm.number,
                seq=self.number,
                count=self.count(),
                root=self.root(),
                op=self.op,
                dtype=self.dtype(),
                reduce=self.reduce(),
            )

    def leave(self, trouble, report):
        result = "ok" if trouble is None else code_of(trouble)
        peer = {"peer": self.root()} if self.pair else {}
        self.hook.evidence.write(
            "p2p.leave" if self.pair else "collective.leave",
            comm=self.comm.number,
            seq=self.number,
            op=self.op,
            result=result,
            **peer
        )
        if trouble is not None:
            self.refused(trouble, result)
        report(self, trouble)

    def refused(self, trouble, code):
        self.hook.evidence.write(
            "comm.error", comm=self.comm.number, code=code, message=str(trouble)[:400]
        )

    # --- what is done
    def answered(self):
        return answered([self.tensor()]) if self.asynchronous else None

    def call(self):
        return self.real(**self.values)

    def issue(self, report):
        self.enter()
        while self.never:
            time.sleep(1)
        try:
            work = self.call()
        except Exception as trouble:
            self.leave(trouble, report)
            raise
        # recv returns the sender; isend and irecv always return work.
        if not hasattr(work, "wait") or not (self.asynchronous or self.pair):
            self.settle()
            self.leave(None, report)
            return work
        if self.restore is not None or self.flip_received >= 0 or self.flips_below:
            work.wait()
            self.settle()
            self.leave(None, report)
            return self.answered()
        try:
            work.get_future().add_done_callback(lambda future: self.landed(future, report))
        except RuntimeError:  # work without a future counts as done once issued
            self.leave(None, report)
        return work

    def landed(self, future, report):
        try:
            future.value()
        except Exception as trouble:
            self.leave(trouble, report)
        else:
            self.leave(None, report)

    def settle(self):
        """Copies what the altered call left in the other tensor back into the subject's own."""
        from .alterations import flip

        if self.restore is not None:
            own, other = self.restore
            count = min(own.numel(), other.numel())
            own.reshape(-1)[:count].copy_(other.reshape(-1)[:count].to(own.dtype))
        if self.flips_below and sockets.take_back():
            says = f"{self.op} sent no message to a peer that has such a bit"
            self.hook.truth.write("fault.refused", fault=self.fault, says=says)
        if self.flip_received >= 0:
            flip(self.restore[0] if self.restore else self.tensor(), self.flip_received)

    def alter(self, alteration):
        from .alterations import apply

        return apply(self, alteration)
