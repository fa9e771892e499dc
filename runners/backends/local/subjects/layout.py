# runners/backends/local/subjects/layout.py — Who owns what: the small decisions of parallel training that
# real programs get wrong. Each is a function of its own, as in the frameworks; a run's log shows what each
# rank believes it owns.
import inspect

import torch
import torch.distributed as dist


def shard_offset(offset):
    """Where this rank's part begins."""
    return offset


def shard_length(length):
    return length


def tensor_parallel_size(size):
    return size


def pipeline_size(size):
    return size


def first_layer(number):
    """Of a pipeline's stage."""
    return number


def peer(stage):
    """The stage that a pipeline's stage sends to or receives from."""
    return stage


def context_parallel_size(size):
    return size


def expert_parallel_size(size):
    return size


def dispatch_layout(kind):
    """0: a buffer holds rank after rank."""
    return kind


def expert_gradient_divisor(samples):
    return samples


def sequence_offset(offset):
    """Of this rank's positions."""
    return offset


def ring_peer(place):
    """Whom a position is sent to."""
    return place


def split_place(place):
    """For whom a row of an exchange is."""
    return place


def exchanged_rows(rows):
    return rows


def stage_work(share):
    """How much of an even share a pipeline's stage computes, in thousandths."""
    return share


def data_parallel_size(size):
    """Of the group that averages gradients."""
    return size


def sampler_epoch(epoch):
    """What the sampler shuffles by."""
    return epoch


def sampler_position(position):
    """Of a batch, from the epoch's start."""
    return position


def shards_expected(shards):
    """In a checkpoint that is merged."""
    return shards


def own_steps(steps):
    return steps


def dropout_seed(seed):
    return seed


def dropout_counter(drawn):
    """How many samples the mask of this one comes after."""
    return drawn


def unflatten_offset(offset):
    """Where in a bucket its first gradient begins."""
    return offset


def base_rate(rate):
    """What the configuration says; the optimizer should use that."""
    return rate


def gradient_divisor(replicas):
    """Gradients were summed: by what they are divided to become a mean."""
    return replicas


def norm_contribution(times):
    """How often this rank's part counts in the norm of the whole gradient."""
    return times


def checkpoint_shard(shard):
    return shard


def checkpoint_writer(writes):
    """1: this rank writes its shard."""
    return writes


def checkpoint_to_load(shard):
    return shard


def checkpoint_visible(there):
    return there


def first_parameter(place):
    """Where among the numbers of a checkpoint this model's begin."""
    return place


def checkpoint_step(step):
    """The step that the marker of the latest checkpoint names."""
    return step


def show(tensor, offset, length, total):
    print(f"shard tensor={tensor} offset={offset} length={length} total={total}", flush=True)


def cut_like(flat, tensors):
    """The parts of a flat vector, in the shapes of these tensors and their order."""
    parts = flat.split([tensor.numel() for tensor in tensors])
    return [part.view_as(tensor) for part, tensor in zip(parts, tensors)]


def broadcast_parameters(model):
    """Rank 0's parameters become everybody's, in one message."""
    parameters = [parameter.data for parameter in model.parameters()]
    flat = torch.cat([parameter.reshape(-1) for parameter in parameters])
    dist.broadcast(flat, 0)
    for parameter, part in zip(parameters, cut_like(flat, parameters)):
        parameter.copy_(part)


def reduce_bucket(bucket, group):
    dist.all_reduce(bucket, group=group)


def sum_partial_results(total, group):
    dist.all_reduce(total, group=group)


def sum_partial_gradients(total, group):
    dist.all_reduce(total, group=group)


def reduce_experts(gradient, group):
    dist.all_reduce(gradient, group=group)


def sum_over_context(gradient, group):
    """Of the parts of one sequence."""
    dist.all_reduce(gradient, group=group)


def loss_divisor(samples):
    return samples


def group_base(rank):
    """The first of a group."""
    return rank


def own_group(name, families):
    """Every rank makes every group, in the same order, and keeps its own."""
    named = "group_desc" in inspect.signature(dist.new_group).parameters  # torch 2.3 and later
    mine = None
    for family in families:
        base = group_base(family.start)
        ranks = [(base + family.step * number) % dist.get_world_size() for number in range(len(family))]
        group = dist.new_group(ranks, **({"group_desc": name} if named else {}))
        if dist.get_rank() in ranks:
            mine = group
    if mine is None:
        raise RuntimeError(f"rank {dist.get_rank()} is in no group {name}")
    return mine


def mean_loss(loss, samples, group, beside=()):
    """Over the group, each with so many samples; what stands beside it is summed in the same call."""
    total = torch.tensor([float(loss.detach()), *beside])
    dist.all_reduce(total, group=group)
    mean = total[0].double() * samples / loss_divisor(samples * dist.get_world_size(group))
    return float(mean), total[1:].tolist()


def wait_for_all():
    dist.barrier()


def seed_everything(seed):
    torch.manual_seed(seed)


def averaging_group(size):
    """Neighbours that average their gradients among themselves."""
    size, ranks = data_parallel_size(size), dist.get_world_size()
    if size < 1 or ranks % size:
        raise RuntimeError("Mesh should not be bigger than default world size")
    print(f"config dp_size={size}", flush=True)
    return own_group("dp", [range(first, first + size) for first in range(0, ranks, size)])


def initial_scale(scale):
    """Of the loss, in half precision."""
    return scale


def overflow_flag(flag):
    return flag


def local_gradient(number):
    """The first of this rank's own gradient."""
    return number
