# runners/local/subjects/layout.py — Who owns what: the small decisions of parallel training that real
# programs get wrong. Each is a function of its own, as in the frameworks; a run's log says what each rank
# believes to own.
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


def checkpoint_step(step):
    """The step that the marker of the latest checkpoint names."""
    return step


def show(tensor, offset, length, total):
    print(f"shard tensor={tensor} offset={offset} length={length} total={total}", flush=True)


def broadcast_parameters(model):
    """Rank 0's parameters become everybody's, in one message."""
    parameters = [parameter.data for parameter in model.parameters()]
    flat = torch.cat([parameter.reshape(-1) for parameter in parameters])
    dist.broadcast(flat, 0)
    for parameter, part in zip(parameters, flat.split([parameter.numel() for parameter in parameters])):
        parameter.copy_(part.view_as(parameter))


def reduce_bucket(bucket, group):
    dist.all_reduce(bucket, group=group)


def sum_partial_results(total, group):
    dist.all_reduce(total, group=group)


def sum_partial_gradients(total, group):
    dist.all_reduce(total, group=group)


def loss_divisor(replicas):
    return replicas


def own_group(name, families):
    """Every rank makes every group, in the same order, and keeps its own."""
    named = "group_desc" in inspect.signature(dist.new_group).parameters  # torch 2.3 and later
    mine = None
    for ranks in families:
        group = dist.new_group(list(ranks), **({"group_desc": name} if named else {}))
        if dist.get_rank() in ranks:
            mine = group
    return mine


def mean_loss(loss, group, replicas):
    total = loss.detach().clone().reshape(1)
    dist.all_reduce(total, group=group)
    return float(total) / loss_divisor(replicas)


def wait_for_all():
    dist.barrier()


def seed_everything(seed):
    torch.manual_seed(seed)
