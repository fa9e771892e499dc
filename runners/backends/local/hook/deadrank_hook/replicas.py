# runners/backends/local/hook/deadrank_hook/replicas.py — Which ranks must hold the same parameters: known
# only where the program itself shows it. DistributedDataParallel has a process group, a DTensor its
# placements, DeepSpeed and Megatron-core their data-parallel groups; a program that averages the gradient of
# each parameter by hand shows it that way. For all others nothing is reported.
import functools
import sys
import weakref

from . import later
from .groups import span
from .training import FIRST

SAMPLE = 1024  # elements of each parameter in one digest, different ones at every step
RUN = 16  # of them that lie side by side
AT_ONCE = 64  # parameters in one digest, once a watched program has taken its first steps
REFRESH = 16  # digests for which a module's list of parameters is kept: walking through it takes long


class Replicas:
    def __init__(self, hook):
        self.hook = hook
        self.parallel = weakref.WeakSet()  # DistributedDataParallel modules
        self.unsynced = weakref.WeakSet()  # of them, those whose last forward pass was to reduce nothing
        self.some_unsynced = False
        self.synced = weakref.WeakSet()  # of them, those that reduce in some forward pass since the last step
        self.drifts = weakref.WeakSet()  # modules that stepped without a reduction: their ranks may differ
        self.engines = weakref.WeakSet()  # DeepSpeed's
        self.by_hand = weakref.WeakKeyDictionary()  # optimizer -> ranks that average its gradients
        self.sharding = weakref.WeakKeyDictionary()  # optimizer → Megatron's, which gives it shards of parameters
        self.averaged = {}  # storage of a gradient that was reduced since the last step → the ranks
        self.learns = True  # whether some optimizer's gradients may be averaged by hand
        self.optimizers = []  # that have stepped since the last digest
        self.sizes = weakref.WeakKeyDictionary()  # optimizer → how many tensors and elements it has
        self.lists = weakref.WeakKeyDictionary()  # module → its parameters, and how often they were used

    # --- what the program shows
    def reduced(self, call):
        """Notes a reduction, perhaps of a gradient."""
        if call.op == "all_reduce" and call.reduce() in ("sum", "avg"):
            self.averages(call.values.get(call.counted), call.comm)

    def averages(self, many, comm):
        if not self.learns:
            return
        for tensor in many if isinstance(many, (list, tuple)) else [many]:
            self.averaged[tensor.data_ptr()] = tuple(comm.members)

    def will_step(self, optimizer):
        known = self.optimizers
        if not known or (known[-1]() is not optimizer and all(one() is not optimizer for one in known)):
            known.append(weakref.ref(optimizer))
        if self.some_unsynced:
            stepped = self.stepped()
            for module in list(self.unsynced):
                if not stepped.isdisjoint(map(id, module.parameters())):
                    self.drifts.add(module)
        self.synced.clear()
        if not self.learns:
            return
        if self.by_hand.get(optimizer, ()) is not None:
            self.by_hand[optimizer] = self.averaging(optimizer)
        self.averaged.clear()
        unknown = any(self.by_hand.get(one, ()) is not None for one in self.hook.optimizers)
        self.learns = unknown or not self.hook.watching

    def averaging(self, optimizer):
        """The ranks over which every gradient that this optimizer is about to use was reduced."""
        grads = [parameter.grad for group in optimizer.param_groups for parameter in group["params"]]
        grads = [gradient for gradient in grads if gradient is not None]
        if not grads or not self.averaged or any(hasattr(gradient, "device_mesh") for gradient in grads):
            return None
        over = {self.averaged.get(gradient.data_ptr()) for gradient in grads}
        return over.pop() if len(over) == 1 else None

    def all_stepped(self):
        return filter(None, (known() for known in self.optimizers))

    def stepped(self):
        """The parameters that an optimizer has changed since the last digest, by id."""
        groups = (group for one in self.all_stepped() for group in one.param_groups)
        return {id(parameter) for group in groups for parameter in group["params"]}

    def elements(self):
        return sum(map(self.size, self.all_stepped()))

    def size(self, optimizer):
        count = sum(len(group["params"]) for group in optimizer.param_groups)
        known = self.sizes.get(optimizer)
        if known is None or known[0] != count:
            tensors = (one for group in optimizer.param_groups for one in group["params"])
            known = self.sizes[optimizer] = (count, sum(one.numel() for one in tensors))
        return known[1]

    def parameters_of(self, module):
        used, own = self.lists.get(module, (0, None))
        if used % REFRESH == 0:
            own = list(of_data_parallel(module))
        self.lists[module] = (used + 1, own)
        return own

    # --- what is reported of it
    def digests(self):
        """(group, name, digest) of what was changed since the last call."""
        import torch

        parts, seen, stepped = {}, set(), self.stepped()
        for index, module in enumerate(sorted(self.parallel, key=lambda one: one.deadrank_number)):
            own = self.parameters_of(module)
            ids = set(map(id, own))
            seen |= ids
            if module in self.drifts or stepped.isdisjoint(ids):
                continue
            ranks = torch.distributed.get_process_group_ranks(module.process_group)
            parts[span(ranks), f"parameters of {type(module.module).__name__} {index}"] = own
        for engine in sorted(self.engines, key=lambda one: one.deadrank_number):
            seen.update(map(id, engine.parameters()))
            if engine.zero_optimization_stage() < 3:
                number = engine.deadrank_number
                name = "parameters" if number == 1 else f"parameters of engine {number}"
                for group, own in by_group(engine):
                    ranks = torch.distributed.get_process_group_ranks(group)
                    if len(ranks) > 1:
                        parts.setdefault((span(ranks), name), []).extend(own)
        for optimizer in self.all_stepped():
            ranks = self.by_hand.get(optimizer)
            for parameter in self.whole_parameters(optimizer):
                if id(parameter) in seen:
                    continue
                placements = hasattr(parameter, "placements")
                theirs = placed(parameter) if placements else ranks or megatron_replicas(parameter)
                if theirs and len(theirs) > 1:
                    parts.setdefault((span(theirs), "parameters"), []).append(parameter)
        self.optimizers = []
        return [(*key, self.sampled(own)) for key, own in parts.items()]

    def whole_parameters(self, optimizer):
        """Those of the model, where the optimizer itself has shards of them. Gathered during the next step they
        are old still."""
        distributed = self.sharding.get(optimizer, lambda: None)()
        if distributed is None:
            return [one for group in optimizer.param_groups for one in group["params"]]
        if distributed.ddp_config.overlap_param_gather:
            return []
        dense = {is_dense(one) for one in distributed.model_param_group_index_map}  # of which this rank has a part
        every = (one for chunk in distributed.model_chunks for one in chunk.parameters())
        return [one for one in every if one.requires_grad and is_dense(one) in dense]

    def sampled(self, own):
        """The step says which elements: a job that came back has the digests of one that was never interrupted."""
        step = self.hook.step
        if not self.hook.watching or step < FIRST or len(own) <= AT_ONCE:
            return sampled(own, step)
        parts = -(-len(own) // AT_ONCE)
        begin = place(step, parts) * AT_ONCE
        return sampled(own[begin : begin + AT_ONCE], step // parts)


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


def is_dense(parameter):
    """Megatron and DeepSpeed mark experts, which have a data-parallel group of their own, by `allreduce`."""
    return getattr(parameter, "allreduce", True)


def by_group(engine):
    """DeepSpeed's groups that hold replicas, each with its parameters."""
    parts = {}
    for parameter in engine.parameters():
        parts.setdefault(None if is_dense(parameter) else parameter.group_name, []).append(parameter)
    for name, own in parts.items():
        group = engine.data_parallel_group
        if name is not None:
            group = sys.modules["deepspeed.utils.groups"]._get_expert_data_parallel_group(name)
        yield group, own


def megatron_replicas(parameter):
    state = sys.modules.get("megatron.core.parallel_state")
    if state is None or not state.is_initialized():
        return None
    import torch

    group = state.get_data_parallel_group() if is_dense(parameter) else state.get_expert_data_parallel_group()
    return tuple(torch.distributed.get_process_group_ranks(group))


def place(step, places):
    """Each place has its turn, also for networks that step in turn."""
    return (step + step // places) % places


def sampled(parameters, step):
    """A digest of some elements: the same on all ranks, others in every step."""
    import torch

    taken = {}
    with torch.no_grad():
        for parameter in parameters:
            part = elements_of(parameter, step)
            taken.setdefault((part.dtype, part.device, part.dim()), []).append(part)
        return later.Digest(torch.cat(parts) for parts in taken.values())


def elements_of(parameter, step):
    import torch

    local = parameter.to_local() if hasattr(parameter, "to_local") else parameter
    many = local.numel()
    stride = many // SAMPLE
    if stride <= 1:
        return local.detach().reshape(-1)
    first = place(step, stride)
    plain = type(local) in (torch.Tensor, torch.nn.Parameter)
    if many % RUN or not plain or not local.is_contiguous():
        return local.detach().reshape(-1)[first::stride]
    # Whole lines of the processor's cache: single elements, each from another page, take far longer to read.
    count = -(-(many // RUN - first) // stride)
    return torch.as_strided(local, (count, RUN), (stride * RUN, 1), local.storage_offset() + first * RUN)


def watch(hook):
    import torch
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
    def watched_register(self, *args, **settings):
        function = settings.get("hook", args[1] if len(args) > 1 else None)
        # Torch's own hooks keep the ranks equal, except post_localSGD, which lets them train alone for a
        # while.
        home = getattr(function, "__module__", "") or ""
        alike = ("torch.distributed.algorithms.ddp_comm_hooks", f"{__package__}.")  # torch's hooks, and ours
        if "post_localSGD" in home or not home.startswith(alike):
            hook.replicas.drifts.add(self)
        return register(self, *args, **settings)

    @functools.wraps(through)
    def watched_forward(self, *args, **settings):
        # A step that reduces some micro-batch is meant to keep the ranks equal: that a later one is not reduced is
        # a mistake, and no training apart.
        if not (torch.is_grad_enabled() and self.training):
            return through(self, *args, **settings)
        if self.require_backward_grad_sync:
            hook.replicas.synced.add(self)
            hook.replicas.unsynced.discard(self)
            hook.replicas.some_unsynced = bool(hook.replicas.unsynced)
        elif self not in hook.replicas.synced:
            hook.replicas.unsynced.add(self)
            hook.replicas.some_unsynced = True
        return through(self, *args, **settings)

    DistributedDataParallel.__init__ = watched_begin
    DistributedDataParallel.register_comm_hook = watched_register
    DistributedDataParallel.forward = watched_forward
    watch_join(hook)
    watch_engines(hook)
    watch_distributed_optimizers(hook)


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
            # A program may have several, of which two are alive for a moment.
            self.deadrank_number = hook.replicas.engines_made = getattr(hook.replicas, "engines_made", 0) + 1
            hook.replicas.engines.add(self)

        engine.__init__ = watched

    imports.after("deepspeed.runtime.engine", found)


def watch_distributed_optimizers(hook):
    """Megatron's, which is ZeRO: the optimizer within it steps the rank's shard alone."""
    from . import imports

    def found():
        kind = sys.modules["megatron.core.optimizer.distrib_optimizer"].DistributedOptimizer
        begin = kind.__init__

        @functools.wraps(begin)
        def watched(self, *args, **settings):
            begin(self, *args, **settings)
            if self.optimizer is not None:  # a rank without parameters of this kind
                hook.replicas.sharding[self.optimizer] = weakref.ref(self)

        kind.__init__ = watched

    imports.after("megatron.core.optimizer.distrib_optimizer", found)
