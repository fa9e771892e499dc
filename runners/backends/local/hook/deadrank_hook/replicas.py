# runners/backends/local/hook/deadrank_hook/replicas.py — Which ranks must hold the same parameters: known
# only where the program itself shows it. DistributedDataParallel has a process group, a DTensor its
# placements, DeepSpeed and Megatron-core their data-parallel groups; a program that averages the gradient of
# each parameter by hand shows it that way. For all others nothing is reported.
import functools
import hashlib
import sys
import weakref

from .groups import span

SAMPLE = 1024  # elements of each parameter in one digest, different ones at every step


class Replicas:
    def __init__(self, hook):
        self.hook = hook
        self.parallel = weakref.WeakSet()  # DistributedDataParallel modules
        self.drifts = weakref.WeakSet()  # modules that stepped without a reduction: their ranks may differ
        self.engines = weakref.WeakSet()  # DeepSpeed's
        self.by_hand = weakref.WeakKeyDictionary()  # optimizer -> ranks that average its gradients
        self.averaged = {}  # storage of a gradient that was reduced since the last step → the ranks
        self.stepped = set()  # parameters that an optimizer has changed since the last digest, by id
        self.optimizers = []
        self.turns = {}

    # --- what the program shows
    def reduced(self, call):
        """Notes a reduction, perhaps of a gradient."""
        if call.op != "all_reduce" or call.reduce() not in ("sum", "avg"):
            return
        many = call.values.get(call.counted)
        for tensor in many if isinstance(many, (list, tuple)) else [many]:
            self.averaged[tensor.data_ptr()] = tuple(call.comm.members)

    def will_step(self, optimizer):
        for group in optimizer.param_groups:
            self.stepped.update(id(parameter) for parameter in group["params"])
        for module in self.parallel:
            if module.__dict__.get("deadrank_unsynced") and self.moved(module.parameters()):
                self.drifts.add(module)
        if self.by_hand.get(optimizer, ()) is not None:
            self.by_hand[optimizer] = self.averaging(optimizer)
        self.averaged.clear()
        if all(known() is not optimizer for known in self.optimizers):
            self.optimizers.append(weakref.ref(optimizer))

    def averaging(self, optimizer):
        """The ranks over which every gradient that this optimizer is about to use was reduced."""
        grads = [parameter.grad for group in optimizer.param_groups for parameter in group["params"]]
        grads = [gradient for gradient in grads if gradient is not None]
        if not grads or not self.averaged or any(hasattr(gradient, "device_mesh") for gradient in grads):
            return None
        over = {self.averaged.get(gradient.data_ptr()) for gradient in grads}
        return over.pop() if len(over) == 1 else None

    def moved(self, parameters):
        return any(id(parameter) in self.stepped for parameter in parameters)

    def elements(self):
        known = filter(None, (one() for one in self.optimizers))
        return sum(p.numel() for one in known for group in one.param_groups for p in group["params"])

    def forget(self):
        self.stepped.clear()
        self.optimizers = []

    # --- what is reported of it
    def digests(self):
        """(group, name, digest) of what was changed since the last call."""
        import torch

        parts, seen = {}, set()
        for index, module in enumerate(sorted(self.parallel, key=lambda one: one.deadrank_number)):
            own = list(of_data_parallel(module))
            seen.update(map(id, own))
            if module in self.drifts or not self.moved(own) or not own:
                continue
            ranks = torch.distributed.get_process_group_ranks(module.process_group)
            parts[span(ranks), f"parameters of {type(module.module).__name__} {index}"] = own
        for engine in self.engines:
            seen.update(map(id, engine.parameters()))
            if engine.zero_optimization_stage() < 3:
                ranks = torch.distributed.get_process_group_ranks(engine.data_parallel_group)
                parts[span(ranks), "parameters"] = list(engine.parameters())
        for optimizer in filter(None, (known() for known in self.optimizers)):
            ranks = self.by_hand.get(optimizer) or megatron_replicas()
            for parameter in (one for group in optimizer.param_groups for one in group["params"]):
                if id(parameter) in seen or id(parameter) not in self.stepped:
                    continue
                theirs = placed(parameter) if hasattr(parameter, "placements") else ranks
                if theirs and len(theirs) > 1:
                    parts.setdefault((span(theirs), "parameters"), []).append(parameter)
        self.forget()
        return [(*key, sampled(own, self.turn(key))) for key, own in parts.items()]

    def turn(self, key):
        """Counts the digests of this group, so that networks that step in turn both get all elements
        sampled."""
        self.turns[key] = self.turns.get(key, -1) + 1
        return self.turns[key]


def of_data_parallel(module):
    ignored = getattr(module, "parameters_to_ignore", ())
    for name, parameter in module.module.named_parameters():
        if name not in ignored and parameter.requires_grad and not hasattr(parameter, "placements"):
            yield parameter


def placed(parameter):
    """The ranks that hold the same part of a DTensor as this one, by its placements."""
    mesh = parameter.device_mesh
    here = mesh.get_coordinate()
    if here is None or any(placement.is_partial() for placement in parameter.placements):
        return None
    ranks = mesh.mesh
    for dimension in reversed(range(ranks.dim())):
        if not parameter.placements[dimension].is_replicate():
            ranks = ranks.select(dimension, here[dimension])
    return tuple(ranks.reshape(-1).tolist())


def megatron_replicas():
    state = sys.modules.get("megatron.core.parallel_state")
    if state is None or not state.is_initialized():
        return None
    import torch

    return tuple(torch.distributed.get_process_group_ranks(state.get_data_parallel_group()))


def sampled(parameters, turn):
    """A digest of some elements: the same on all ranks, others every time, so that each has its turn."""
    import torch

    taken = []
    for parameter in parameters:
        local = parameter.detach()
        local = (local.to_local() if hasattr(local, "to_local") else local).reshape(-1)
        stride = max(1, local.numel() // SAMPLE)
        taken.append(local[turn % stride :: stride].contiguous().view(torch.uint8))
    data = torch.cat(taken).cpu().numpy().tobytes() if taken else b""
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


def watch(hook):
    from torch.nn.parallel import DistributedDataParallel

    hook.replicas = Replicas(hook)
    begin = DistributedDataParallel.__init__
    register = DistributedDataParallel.register_comm_hook
    through = DistributedDataParallel.forward

    @functools.wraps(begin)
    def watched_begin(self, *args, **settings):
        begin(self, *args, **settings)
        self.deadrank_number = hook.replicas.made = getattr(hook.replicas, "made", 0) + 1
        hook.replicas.parallel.add(self)

    @functools.wraps(register)
    def watched_register(self, state, function, *args, **settings):
        # Torch's own hooks keep the ranks equal, except post_localSGD, which lets them train alone for a
        # while.
        home = getattr(function, "__module__", "") or ""
        if "post_localSGD" in home or not home.startswith("torch.distributed.algorithms.ddp_comm_hooks"):
            hook.replicas.drifts.add(self)
        return register(self, state, function, *args, **settings)

    @functools.wraps(through)
    def watched_forward(self, *args, **settings):
        import torch

        if torch.is_grad_enabled() and self.training:
            self.deadrank_unsynced = not self.require_backward_grad_sync
        return through(self, *args, **settings)

    DistributedDataParallel.__init__ = watched_begin
    DistributedDataParallel.register_comm_hook = watched_register
    DistributedDataParallel.forward = watched_forward
    watch_join(hook)
    watch_engines(hook)


def watch_join(hook):
    """Ranks with fewer batches take fewer steps: equal step numbers no longer mean the same step."""
    from torch.distributed.algorithms.join import Join

    enter = Join.__enter__

    @functools.wraps(enter)
    def watched(self):
        for module in self._joinables:
            if module in hook.replicas.parallel:
                hook.replicas.drifts.add(module)
        return enter(self)

    Join.__enter__ = watched


def watch_engines(hook):
    from . import imports

    def found():
        engine = sys.modules["deepspeed.runtime.engine"].DeepSpeedEngine
        begin = engine.__init__

        @functools.wraps(begin)
        def watched(self, *args, **settings):
            begin(self, *args, **settings)
            hook.replicas.engines.add(self)

        engine.__init__ = watched

    imports.after("deepspeed.runtime.engine", found)
