# runners/backends/local/subjects/parallelism.py — Ways to spread one toy model over ranks, each by plain
# torch.distributed calls. Values are real: a rank that takes the wrong shard trains a different model.
import torch
import torch.distributed as dist
from torch import nn

import checkpoint
import layout
from split_layers import Block, SplitBlock


def toy_model(options, hidden=None):
    layers = []
    for _ in range(options.layers if hidden is None else hidden):
        layers += [nn.Linear(options.width, options.width), nn.Tanh()]
    return nn.Sequential(*layers, nn.Linear(options.width, 1))


class Replicated:
    """Every rank holds the whole model; gradients are averaged by hand, bucket by bucket."""

    def __init__(self, options):
        self.options = options
        self.model = toy_model(options)
        layout.broadcast_parameters(self.model)
        if options.dp_size:
            self.data_group = layout.averaging_group(options.dp_size)
        self.optimizer = self.make_optimizer(self.model.parameters())

    replica, replicas = property(lambda self: dist.get_rank()), property(lambda self: dist.get_world_size())
    data_group = None  # the group that averages; None = the world
    audit = None  # audit.Audit, if requested
    shard, shards = 0, 1  # which part of a checkpoint this rank holds
    writer = property(lambda self: dist.get_rank() == 0)

    def serial(self):
        """The same model on one rank alone, with the same numbers for the same seed."""
        return toy_model(self.options)

    def steps(self):
        return self.options.steps

    def batches(self, data):
        """None: batches are dealt by a sampler."""

    def owned(self, serial):
        """The part of its parameters that this rank holds."""
        return list(serial.parameters())

    def own(self):
        return list(self.model.parameters())

    def clear_gradients(self):
        for parameter in self.model.parameters():
            if parameter.grad is not None:
                parameter.grad.zero_()

    def compute(self, features, targets, device):
        """A forward and backward pass for each micro-batch; `device` stands for the time of a real one."""
        self.clear_gradients()
        parts = max(1, min(self.options.micro_batches, len(features)))
        total = torch.zeros(())
        for number, (batch, answers) in enumerate(zip(features.chunk(parts), targets.chunk(parts))):
            loss = nn.functional.mse_loss(self.model(batch), answers) * (len(batch) / len(features))
            if number == 0:
                device()
            self.backward(loss, number == 0, number == parts - 1)
            total += loss.detach()
        return total

    def backward(self, loss, first, last):
        """Backward pass of one micro-batch, whose gradient is added to that of the earlier ones."""
        parameters = list(self.model.parameters())
        before = [] if first else [parameter.grad.clone() for parameter in parameters]
        if last:  # what a reducer that does not wait for this one would find
            self.filled = before or None
        for parameter in parameters if before else ():
            parameter.grad.zero_()
        loss.backward()
        if self.audit:
            self.audit.micro_batch(self.gradients_now(), first)
        if before:
            self.accumulate(before)
        if last:
            self.fill_buckets()

    def gradients_now(self):
        return [parameter.grad for parameter in self.model.parameters()]

    def accumulate(self, before):
        for parameter, gradient in zip(self.model.parameters(), before):
            parameter.grad.add_(gradient)

    def fill_buckets(self):
        self.filled = self.gradients_now()

    def make_optimizer(self, parameters):
        return torch.optim.SGD(parameters, lr=self.options.learning_rate, momentum=0.9)

    def reduce(self):
        parameters = list(self.model.parameters())
        filled = self.gradients_now() if self.options.overlap_off else self.filled
        gradients = filled or [torch.zeros_like(parameter) for parameter in parameters]
        each = -(-len(parameters) // self.options.buckets)
        for first in range(0, len(parameters), each):
            self.reduce_together(parameters[first : first + each], gradients[first : first + each])

    def reduce_together(self, parameters, gradients):
        """A bucket holds whole parameters, so buckets may differ in size."""
        flat = torch.cat([gradient.reshape(-1) for gradient in gradients])
        ranks = dist.get_world_size(self.data_group)
        if self.options.average_in_collective:
            dist.all_reduce(flat, op=dist.ReduceOp.AVG, group=self.data_group)
        else:
            layout.reduce_bucket(flat, self.data_group)
        if self.audit:
            self.audit.bucket(flat * ranks if self.options.average_in_collective else flat)
        if not self.options.average_in_collective:
            flat /= layout.gradient_divisor(ranks)
        flat = flat.roll(-layout.unflatten_offset(0))
        for parameter, part in zip(parameters, layout.cut_like(flat, parameters)):
            parameter.grad.copy_(part)

    def gradient_norm(self):
        """The norm, if it takes a call to know it; a whole gradient's norm each rank can compute alone."""
        return None

    def step(self):
        self.optimizer.step()

    def show(self, step):
        """Prints what else this kind of training reports of a step."""

    def check_before_save(self, path):
        """Raises if there is no state yet."""

    def state(self):
        return {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}

    def restore(self, state):
        self.model.load_state_dict(checkpoint.by_place(state["model"]))
        self.optimizer.load_state_dict(state["optimizer"])


class Wrapped(Replicated):
    """DistributedDataParallel: gradients are averaged in buckets while backward runs."""

    def __init__(self, options):
        self.options = options
        self.model = nn.parallel.DistributedDataParallel(toy_model(options))
        self.optimizer = self.make_optimizer(self.model.parameters())

    def reduce(self):
        """Done already, during backward."""


class Sharded(Replicated):
    """ZeRO: parameters are one flat vector; each rank optimizes its own slice of it and gathers the others'.

    Stage 1 sums whole gradients and keeps its part, stage 2 sums only its part.
    """

    def __init__(self, options):
        self.options = options
        self.model = toy_model(options)
        layout.broadcast_parameters(self.model)
        ranks, rank = dist.get_world_size(), dist.get_rank()
        total = sum(parameter.numel() for parameter in self.model.parameters())
        self.length = layout.shard_length(-(-total // ranks))
        self.offset = layout.shard_offset(rank * self.length)
        layout.show("flat_parameters", self.offset, min(self.length, total - self.offset), total)
        self.flat = torch.zeros(self.length * ranks)
        self.gradients = torch.zeros_like(self.flat)
        at = 0
        for parameter in self.model.parameters():
            end = at + parameter.numel()
            self.flat[at:end] = parameter.detach().reshape(-1)
            parameter.data = self.flat[at:end].view_as(parameter)
            parameter.grad = self.gradients[at:end].view_as(parameter)
            at = end
        self.own = nn.Parameter(self.own_slice(self.flat).clone())
        self.optimizer = self.make_optimizer([self.own])
        self.shard, self.shards = rank, ranks

    writer = True

    def own_slice(self, flat):
        """Pads what is behind the end, as frameworks do; torch refuses a slice that begins there."""
        part = flat.narrow(0, self.offset, max(0, min(self.length, flat.numel() - self.offset)))
        return nn.functional.pad(part, (0, self.length - part.numel()))

    def gather(self):
        dist.all_gather(list(self.flat.chunk(dist.get_world_size())), self.own.detach())

    def reduce(self):
        mean = torch.empty_like(self.own)
        if self.options.stage == 1:
            layout.reduce_bucket(self.gradients, None)
            mean.copy_(self.own_slice(self.gradients))
        else:
            dist.reduce_scatter_tensor(mean, self.gradients)
        self.own.grad = mean / layout.gradient_divisor(self.replicas)

    def step(self):
        self.optimizer.step()
        self.gather()

    def state(self):
        return {"shard": self.own.detach(), "optimizer": self.optimizer.state_dict()}

    def restore(self, state):
        self.own.data.copy_(state["shard"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.drop_gathered()

    def drop_gathered(self):
        """Gathers again: what was gathered dates from before the load."""
        self.gather()


class TensorParallel(Replicated):
    """Each layer is split over a group of `tp_size` ranks; the groups are replicas of each other."""

    def __init__(self, options):
        self.options = options
        size = layout.tensor_parallel_size(options.tp_size)
        if size <= 0 or dist.get_world_size() % size:
            raise RuntimeError(f"world_size ({dist.get_world_size()}) is not divisible by {size}")
        print(f"config tp_size={size}", flush=True)
        rank = dist.get_rank()
        self.place, self.group_number = rank % size, rank // size
        families = {
            "tp": [range(start, start + size) for start in range(0, dist.get_world_size(), size)],
            "dp": [range(place, dist.get_world_size(), size) for place in range(size)],
        }
        groups = {name: layout.own_group(name, ranks) for name, ranks in families.items()}
        self.tensor_group, self.data_group = groups["tp"], groups["dp"]
        blocks = [
            SplitBlock(options.width, self.tensor_group, self.place, size)
            for _ in range(max(1, options.layers // 2))
        ]
        head = nn.Linear(options.width, 1)  # drawn last: the same on all ranks
        self.model = nn.Sequential(*blocks, head)
        self.optimizer = self.make_optimizer(self.model.parameters())
        self.shard, self.shards = self.place, size

    def serial(self):
        blocks = [Block(self.options.width) for _ in range(max(1, self.options.layers // 2))]
        return nn.Sequential(*blocks, nn.Linear(self.options.width, 1))

    def owned(self, serial):
        *blocks, head = serial
        *mine, _ = self.model
        parts = [part for block, own in zip(blocks, mine) for part in block.part(own.offset, own.length)]
        return parts + list(head.parameters())

    def gradient_norm(self):
        """Each parameter counts once: what is split, by its owner; the head, by the first of the group."""
        *blocks, head = self.model
        counted = [*blocks, head] if self.place == 0 else blocks
        squares = sum(
            parameter.grad.pow(2).sum() for module in counted for parameter in module.parameters()
        ) * layout.norm_contribution(1)
        whole = squares.reshape(1)
        dist.all_reduce(whole, group=self.tensor_group)
        return float(whole.sqrt())

    replica = property(lambda self: self.group_number)
    replicas = property(lambda self: dist.get_world_size(self.data_group))
    writer = property(lambda self: self.group_number == 0)
