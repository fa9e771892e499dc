# runners/backends/local/hook/deadrank_hook/collectives.py — Records the start and end of every collective and
# point-to-point call of torch.distributed. Calls that bypass it are seen in the process group, or, where
# torch does not let us replace that, through DistributedDataParallel's documented communication hook.
import functools
import time

from . import process_group
from .calls import Call
from .groups import inside, replace
from .observed import Observer

# name of the function → operation, the argument whose elements count, the argument that names the root or
# peer
COLLECTIVES = {
    "all_reduce": ("all_reduce", "tensor", ""),
    "broadcast": ("broadcast", "tensor", "src"),
    "reduce": ("reduce", "tensor", "dst"),
    "all_gather": ("all_gather", "tensor", ""),
    "all_gather_into_tensor": ("all_gather", "input_tensor", ""),
    "reduce_scatter": ("reduce_scatter", "output", ""),
    "reduce_scatter_tensor": ("reduce_scatter", "output", ""),
    "all_to_all": ("all_to_all", "input_tensor_list", ""),
    "all_to_all_single": ("all_to_all", "input", ""),
    "gather": ("gather", "tensor", "dst"),
    "scatter": ("scatter", "tensor", "src"),
    "barrier": ("barrier", "", ""),
}
PAIRS = {
    "send": ("send", "tensor", "dst"),
    "isend": ("send", "tensor", "dst"),
    "recv": ("recv", "tensor", "src"),
    "irecv": ("recv", "tensor", "src"),
}


def watch(hook):
    import torch.distributed.distributed_c10d as c10d

    hook.calls = Calls(hook)
    hook.observer = Observer(hook) if hook.watching else None
    seen = (hook.observer or hook.calls).watched
    for names, pair in ((COLLECTIVES, False), (PAIRS, True)):
        for name, shape in names.items():
            replace(c10d, name, lambda real, shape=shape, pair=pair: seen(real, shape, pair))
    replace(c10d, "destroy_process_group", lambda real: lambda *a, **k: leave(hook, real, a, k))
    if not process_group.watch(hook, c10d):
        watch_data_parallel()


def leave(hook, real, args, settings):
    import torch.distributed as dist

    group = args[0] if args else settings.get("group")
    group = None if group is dist.group.WORLD else group
    if group is None:  # the world, not one group of it
        hook.calls.issue_held()
        hook.training.finish()
        hook.flight.dump()
    answer = real(*args, **settings)
    hook.communicators.forget(group)
    return answer


class Calls:
    """This rank's calls: a fault may alter, hold or skip one; all that are issued are recorded."""

    def __init__(self, hook):
        import torch.distributed as dist

        self.hook = hook
        self.stranger = dist.GroupMember.NON_GROUP_MEMBER  # a group that this rank is not in
        self.held = []
        self.pending = {}  # call → when it began, for the flight recorder's watch

    def watched(self, real, shape, pair):
        def call(*args, **settings):
            if inside.call or settings.get("group") is self.stranger:
                return real(*args, **settings)
            made = self.made(real, shape, pair, args, settings)
            return real(*args, **settings) if made is None else self.pass_through(made)

        return call

    def made(self, real, shape, pair, args, settings):
        return Call(self.hook, real, shape, pair, args, settings)

    def made_below(self, real, shape, group, names, args):
        return process_group.NativeCall(self.hook, real, shape, group, dict(zip(names, args)))

    def pass_through(self, call):
        training = self.hook.training
        training.inside.forward, forward = True, training.inside.forward
        try:
            training.stretch()
            if training.open and not training.current and not training.stepped:
                training.phase("reduce")
            self.hook.injector.at(call.op, call.comm.name, call)
            if call.held:
                self.held.append(call)
                return call.answered()
            if call.skipped:
                return call.answered()
            answer = self.issue(call)
            self.issue_held()
            return answer
        finally:
            training.mark = time.monotonic()
            training.inside.forward = forward

    def issue_held(self):
        held, self.held = self.held, []
        for call in held:
            self.issue(call)

    def issue(self, call):
        self.hook.replicas.reduced(call)
        inside.call = True
        self.pending[call] = time.time_ns()
        try:
            return call.issue(self.done)
        finally:
            inside.call = False

    def done(self, call, trouble):
        self.pending.pop(call, None)
        if trouble is not None:
            self.hook.flight.dump()


def watch_data_parallel():
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    def average(group, bucket):
        tensor = bucket.buffer().div_(dist.get_world_size(group))
        work = dist.all_reduce(tensor, group=group, async_op=True)
        if work is None:
            answer = torch.futures.Future()
            answer.set_result(tensor)
            return answer
        return work.get_future().then(lambda future: future.value()[0])

    real_begin = DistributedDataParallel.__init__
    real_register = DistributedDataParallel.register_comm_hook
    real_forward = DistributedDataParallel.forward

    @functools.wraps(real_begin)
    def begin(self, *args, **settings):
        real_begin(self, *args, **settings)
        self.deadrank_open = True

    @functools.wraps(real_register)
    def register(self, *args, **settings):
        self.deadrank_open = False
        return real_register(self, *args, **settings)

    @functools.wraps(real_forward)
    def forward(self, *args, **settings):
        if self.__dict__.pop("deadrank_open", False):
            real_register(self, self.process_group, average)
        return real_forward(self, *args, **settings)

    DistributedDataParallel.__init__ = begin
    DistributedDataParallel.register_comm_hook = register
    DistributedDataParallel.forward = forward
