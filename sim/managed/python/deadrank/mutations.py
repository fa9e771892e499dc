# sim/managed/python/deadrank/mutations.py — What `deadrank test --mutate` does to a call of the program under test.
# Each mutation bends the values of one call at one line; mutate.py decides whether the call is the one.
# runners/manual/output_words.cpp has the same names with their meanings.
#
# A collective is made as the program asked for it, so that no rank waits because of a mutation. Only what goes in or
# comes out is bent. A one-rank mutation acts at member 1 of the group, since tests tend to look at rank 0.
import torch

from . import mutate
from .process_group import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    AVERAGES,
    BROADCAST,
    GATHER,
    REDUCE,
    REDUCE_SCATTER,
    SCATTER,
    PROFILED,
    ProcessGroup,
)

SUM, AVG = 1, 5
ONE = 1  # the member at which a mutation of one rank acts
REDUCING = (ALL_REDUCE, REDUCE, REDUCE_SCATTER)
GATHERING = (ALL_GATHER, GATHER, ALL_TO_ALL)
SCATTERING = (SCATTER, REDUCE_SCATTER)


def install():
    """In a rank, before the suite's modules are imported."""
    replace_post()
    replace_backward()
    replace_optimizers()
    replace_scaler()
    replace_clipping()
    replace_seeds()
    replace_samplers()
    replace_modules()
    replace_files()
    replace_checkpoints()
    replace_placements()


# Collectives


def replace_post():
    real = ProcessGroup.post

    def post(self, op, ins, outs, result, options=None, **said):
        if mutate.busy or self.count < 2 or op not in PROFILED or not (ins or outs):
            return real(self, op, ins, outs, result, options, **said)
        call = Collective(self, op, ins, outs, said)
        with mutate.at(mutate.object_call() or PROFILED[op], call.choices) as name:
            return call.make(real, name, result, options) if name else call.plain(real, result, options)

    ProcessGroup.post = post


class Collective:
    def __init__(self, group, op, ins, outs, said):
        self.group, self.op, self.ins, self.outs, self.said = group, op, ins, outs, said
        self.reduction = said.get("reduction", 0)

    def choices(self):
        """Names of the mutations that this call can have."""
        objects = mutate.object_call() is not None
        if self.op in REDUCING and not objects:
            if self.reduction in AVERAGES:
                yield "sum_for_mean" if self.is_mean() else "mean_for_sum"
                yield "contribution_left_out"
                yield "late_contribution"
            if self.op != REDUCE:
                yield "reduction_left_out"
            if self.op == ALL_REDUCE and self.reduction in AVERAGES and self.group.count > 2:
                yield "wrong_group"
        if self.op == BROADCAST and not objects:  # of objects: their size would be whatever the memory held
            yield "broadcast_left_out"
        if self.op in GATHERING and self.is_even(self.outs) or self.op in SCATTERING and self.is_even(self.ins):
            yield "shards_swapped"
            if self.group.count > 2:
                yield "shards_off_by_one"

    def is_mean(self):
        """Gradients are divided by the number of ranks before they are summed, or by the call."""
        return self.reduction == AVG or torch._C._current_autograd_node() is not None

    def is_even(self, tensors):
        """Whether it is a whole number of equal pieces. On ranks without any (they are not the root) it counts too."""
        if not tensors:
            return True
        if self.op == ALL_TO_ALL and len(set(self.said.get("pieces") or ())) > 1:
            return False
        if len(tensors) == 1:
            return tensors[0].numel() % self.group.count == 0 and tensors[0].is_contiguous()
        sizes = {tensor.numel() for tensor in tensors}
        return len(tensors) % self.group.count == 0 and len(sizes) == 1

    def plain(self, real, result, options):
        return real(self.group, self.op, self.ins, self.outs, result, options, **self.said)

    def make(self, real, name, result, options):
        return getattr(self, name)(real, result, options)

    def with_result(self, real, result, options, bend):
        """`bend` changes what the call has brought."""
        work = self.plain(real, result, options)
        work.bend = lambda: mutate.unseen(bend)
        return work

    def with_input(self, real, result, options, ins):
        return real(self.group, self.op, ins, self.outs, result, options, **self.said)

    def scaled(self, real, result, options, factor):
        def bend():
            for out in self.outs:
                write(out, divided(out, self.group.count) if factor < 0 else out * self.group.count)

        return self.with_result(real, result, options, bend)

    def sum_for_mean(self, real, result, options):
        return self.scaled(real, result, options, 1)

    def mean_for_sum(self, real, result, options):
        return self.scaled(real, result, options, -1)

    def reduction_left_out(self, real, result, options):
        own = [copy(tensor) for tensor in self.own_part()]

        def bend():
            for out, mine in zip(self.outs, own):
                write(out, mine)

        return self.with_result(real, result, options, bend)

    def own_part(self):
        if self.op == ALL_REDUCE:
            return self.ins
        if len(self.ins) == 1:
            return [self.ins[0].detach().reshape(-1).chunk(self.group.count)[self.group.place]]
        return [self.ins[self.group.place]]

    def broadcast_left_out(self, real, result, options):
        own = [copy(tensor) for tensor in self.outs]  # none at the root

        def bend():
            for out, mine in zip(self.outs, own):
                write(out, mine)

        return self.with_result(real, result, options, bend)

    def contribution_left_out(self, real, result, options):
        if self.group.place != ONE:
            return self.plain(real, result, options)
        return self.with_input(real, result, options, [noted(one, torch.zeros_like(copy(one))) for one in self.ins])

    def late_contribution(self, real, result, options):
        if self.group.place != ONE:
            return self.plain(real, result, options)
        now = [copy(tensor) for tensor in self.ins]
        before, mutate.before = mutate.before, now
        if before is None or [one.shape for one in before] != [one.shape for one in now]:
            return self.plain(real, result, options)
        return self.with_input(real, result, options, [noted(one, old) for one, old in zip(now, before)])

    def wrong_group(self, real, result, options):
        """Each half of the group reduces by itself: all contributions are gathered, and half of them used."""
        count, half = self.group.count, self.group.count // 2
        pieces = [[torch.empty_like(copy(one)) for one in self.ins] for _ in range(count)]
        said = {name: value for name, value in self.said.items() if name not in ("reduction", "in_place")}
        PROFILED[ALL_GATHER] = PROFILED[ALL_REDUCE]  # a profiler shows the call that the program made
        try:
            work = real(self.group, ALL_GATHER, [copy(one) for one in self.ins],
                        [one for many in pieces for one in many], result, options, **said)
        finally:
            PROFILED[ALL_GATHER] = "all_gather"
        side = range(half) if self.group.place < half else range(half, count)

        def bend():
            for i, out in enumerate(self.outs):
                whole, part = self.joined(pieces, i, range(count)), self.joined(pieces, i, side)
                with torch.no_grad():
                    out.detach().copy_(whole.view(out.shape))
                write(out, part)

        work.bend = lambda: mutate.unseen(bend)
        return work

    def joined(self, pieces, i, members):
        total = sum((pieces[member][i] for member in members[1:]), pieces[members[0]][i].clone())
        return divided(total, len(members)) if self.reduction == AVG else total

    def permuted(self, real, result, options, order):
        if self.op in SCATTERING:
            return self.with_input(real, result, options, [noted(old, new) for old, new in
                                                           zip(self.ins, reordered(self.ins, order))])

        def bend():
            for out, new in zip(self.outs, reordered(self.outs, order)):
                write(out, new)

        return self.with_result(real, result, options, bend)

    def shards_swapped(self, real, result, options):
        return self.permuted(real, result, options, [1, 0, *range(2, self.group.count)])

    def shards_off_by_one(self, real, result, options):
        return self.permuted(real, result, options, [*range(1, self.group.count), 0])


def reordered(tensors, order):
    """Copies, the pieces of the members in another order. One tensor holds all pieces, or each has a few of its own."""
    if len(tensors) == 1:
        pieces = tensors[0].detach().reshape(-1).chunk(len(order))
        return [torch.cat([pieces[member] for member in order]).view(tensors[0].shape)]
    each = len(tensors) // len(order)
    return [copy(tensors[member * each + i]) for member in order for i in range(each)]


def copy(tensor):
    return tensor.detach().clone(memory_format=torch.contiguous_format)


def divided(tensor, count):
    return tensor / count if tensor.is_floating_point() or tensor.is_complex() else tensor // count


def write(out, value):
    """In place of a result; says whether that changes it."""
    with torch.no_grad():
        value = value.detach().reshape(out.shape).to(out.dtype)
        if not same(out, value):
            mutate.changed()
            out.detach().copy_(value)


def noted(old, new):
    if not same(old, new):
        mutate.changed()
    return new


def same(one, other):
    one, other = one.detach().reshape(-1), other.detach().reshape(-1)
    if one.dtype != other.dtype or one.numel() != other.numel():
        return False
    if one.is_floating_point() or one.is_complex():
        return bool(((one == other) | ((one != one) & (other != other))).all())
    return torch.equal(one, other)


# Losses, gradients, optimizers


def replace(owner, name, choices, bend, call=None, doing=None):
    """`owner.name` at a line that is mutated becomes `bend(mutation, real, …)`."""
    real = getattr(owner, name, None)
    if real is None:
        return

    def replaced(*args, **said):
        if mutate.busy:
            return real(*args, **said)
        values = doing(*args, **said) if doing else None
        with mutate.at(call or name, lambda: choices, values) as mutation:
            return bend(mutation, real, *args, **said) if mutation else real(*args, **said)

    mutate.copy_metadata(replaced, real)
    setattr(owner, name, replaced)


def ranks():
    import torch.distributed as dist

    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def place():
    import torch.distributed as dist

    return dist.get_rank() if dist.is_available() and dist.is_initialized() else mutate.rank


def replace_backward():
    def bend(_, real, self, gradient=None, *args, **said):
        if gradient is None and self.numel() == 1:
            gradient = torch.ones_like(self)
        if gradient is None or ranks() < 2:
            return real(self, gradient, *args, **said)
        mutate.changed()
        return real(self, gradient * ranks(), *args, **said)

    replace(torch.Tensor, "backward", ("loss_times_ranks",), bend)


def gradients_of(optimizer):
    return [one.grad for group in optimizer.param_groups for one in group["params"] if one.grad is not None]


def replace_optimizers():
    from torch.optim import Optimizer

    def keep_gradients(_, real, self, *args, **said):
        if any(bool((local(one) != 0).any()) for one in gradients_of(self)):
            mutate.changed()

    def drop_state(_, real, self, state_dict, *args, **said):
        if state_dict.get("state"):
            mutate.changed()
        return real(self, {**state_dict, "state": {}}, *args, **said)

    def keep_gradients_of(_, real, self, *args, **said):
        if any(one.grad is not None and bool((local(one.grad) != 0).any()) for one in self.parameters()):
            mutate.changed()

    replace(Optimizer, "zero_grad", ("gradients_kept",), keep_gradients)
    replace(torch.nn.Module, "zero_grad", ("gradients_kept",), keep_gradients_of)
    replace(Optimizer, "load_state_dict", ("optimizer_state_dropped",), drop_state, "Optimizer.load_state_dict")


def replace_scaler():
    from torch.amp import GradScaler

    def keep_scale(_, real, self, optimizer, inv_scale, *args, **said):
        return real(self, optimizer, noted(inv_scale, torch.ones_like(inv_scale)), *args, **said)

    replace(GradScaler, "_unscale_grads_", ("unscale_left_out",), keep_scale, "GradScaler.unscale_")


def replace_clipping():
    utils = torch.nn.utils

    def measure(_, real, parameters, max_norm, *args, **said):
        many = [parameters] if isinstance(parameters, torch.Tensor) else list(parameters)
        before = [copy(local(one.grad)) for one in many if one.grad is not None]
        norm = real(many, max_norm, *args, **said)
        with torch.no_grad():
            for one, old in zip([one for one in many if one.grad is not None], before):
                write(local(one.grad), old)
        return norm

    replace(utils.clip_grad, "clip_grad_norm_", ("clipping_left_out",), measure)
    utils.clip_grad_norm_ = utils.clip_grad.clip_grad_norm_


def local(tensor):
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


# Seeds and samplers


def replace_seeds():
    def bend(mutation, real, seed):
        new = int(seed) + place() if mutation == "seed_differs" else mutate.of_rank_0(int(seed))
        if new != int(seed):
            mutate.changed()
        return real(new)

    replace(torch.random, "manual_seed", ("seed_same", "seed_differs"), bend, doing=lambda seed: int(seed))
    torch.manual_seed = torch.random.manual_seed


def replace_samplers():
    from torch.utils.data.distributed import DistributedSampler

    def other_shard(mutation, real, self):
        own, count = self.rank, self.num_replicas
        shard = {"sampler_off_by_one": (own + 1) % count, "sampler_same": 0,
                 "sampler_swapped": 1 - own if own < 2 and count > 1 else own}[mutation]
        right = list(real(self))
        self.rank = shard
        try:
            wrong = list(real(self))
        finally:
            self.rank = own
        if wrong != right:
            mutate.changed()
        return iter(wrong)

    def keep_epoch(_, real, self, epoch):
        if self.epoch != epoch and self.shuffle:
            mutate.changed()

    replace(DistributedSampler, "__iter__", ("sampler_off_by_one", "sampler_same", "sampler_swapped"), other_shard,
            "DistributedSampler")
    replace(DistributedSampler, "set_epoch", ("epoch_left_out",), keep_epoch)


# State


def replace_modules():
    from torch.nn import Module

    def keep_one(_, real, self, state_dict, *args, **said):
        own = {name: value for name, value in self.state_dict().items() if isinstance(value, torch.Tensor)}
        stale = next((name for name in sorted(own) if isinstance(state_dict.get(name), torch.Tensor)
                      and own[name].shape == state_dict[name].shape
                      and not same(local(own[name]), local(state_dict[name]))), None)
        if stale is None:
            return real(self, state_dict, *args, **said)
        mutate.changed()
        bent = state_dict.copy()
        bent[stale] = own[stale].clone()
        return real(self, bent, *args, **said)

    replace(Module, "load_state_dict", ("stale_tensor",), keep_one, "Module.load_state_dict")


def replace_files():
    import os

    def path_of(file, *_, **__):
        return os.fspath(file) if isinstance(file, (str, os.PathLike)) else None

    def rank_0s(_, real, file, *args, **said):
        other = mutate.of_rank_0(path_of(file))
        if other is not None and other != path_of(file) and os.path.exists(other):
            mutate.changed()
            file = other
        return real(file, *args, **said)

    replace(torch.serialization, "load", ("shard_of_rank_0",), rank_0s, "torch.load", doing=path_of)
    torch.load = torch.serialization.load


def replace_checkpoints():
    import torch.distributed.checkpoint as dcp
    from torch.distributed.checkpoint import state_dict_loader

    def tensors_in(value, name=""):
        if isinstance(value, dict):
            for key in sorted(value, key=str):
                yield from tensors_in(value[key], f"{name}.{key}")
        elif isinstance(value, torch.Tensor):
            yield name, value

    def keep_one(_, real, state_dict, *args, **said):
        before = {name: copy(local(one)) for name, one in tensors_in(state_dict)}
        answer = real(state_dict, *args, **said)
        for name, one in tensors_in(state_dict):
            if name in before and not same(local(one), before[name]):
                with torch.no_grad():
                    write(local(one), before[name])
                break
        return answer

    replace(state_dict_loader, "load", ("stale_tensor",), keep_one, "checkpoint.load")
    dcp.load = state_dict_loader.load


def replace_placements():
    from torch.distributed.tensor import DTensor, Partial, Replicate

    real = DTensor.from_local

    def from_local(local_tensor, device_mesh=None, placements=None, **said):
        pending = placements is not None and any(isinstance(one, Partial) for one in placements)
        if mutate.busy or not pending:
            return real(local_tensor, device_mesh, placements, **said)
        with mutate.at("DTensor.from_local", lambda: ("partial_as_replicate",)) as mutation:
            if mutation:
                mutate.changed()
                placements = [Replicate() if isinstance(one, Partial) else one for one in placements]
            return real(local_tensor, device_mesh, placements, **said)

    mutate.copy_metadata(from_local, real)
    DTensor.from_local = staticmethod(from_local)
