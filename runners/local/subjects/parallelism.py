# runners/local/subjects/parallelism.py — Ways to spread one toy model over ranks, each by plain
# torch.distributed calls. Values are real: whoever takes the wrong shard trains a different model.
import torch
import torch.distributed as dist
from torch import nn

import layout


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
        self.optimizer = self.make_optimizer(self.model.parameters())

    replica, replicas = property(lambda self: dist.get_rank()), property(lambda self: dist.get_world_size())
    data_group = None  # the group that divides the samples; None = the world
    shard, shards = 0, 1  # which part of a checkpoint this rank holds
    writer = property(lambda self: dist.get_rank() == 0)

    def serial(self):
        """The same model as one rank alone has it, with the same numbers where the seed is the same."""
        return toy_model(self.options)

    def owned(self, serial):
        """What of its parameters this rank has."""
        return list(serial.parameters())

    def clear_gradients(self):
        for parameter in self.model.parameters():
            if parameter.grad is not None:
                parameter.grad.zero_()

    def compute(self, features, targets, device):
        """One forward and backward pass; `device` stands for the time that a real one would take."""
        self.clear_gradients()
        loss = torch.nn.functional.mse_loss(self.model(features), targets)
        device()
        loss.backward()
        return loss

    def make_optimizer(self, parameters):
        return torch.optim.SGD(parameters, lr=self.options.learning_rate, momentum=0.9)

    def reduce(self):
        parameters = list(self.model.parameters())
        each = -(-len(parameters) // self.options.buckets)
        for first in range(0, len(parameters), each):
            self.reduce_together(parameters[first : first + each])

    def reduce_together(self, parameters):
        """A bucket holds whole parameters, so that no two need have one size."""
        flat = torch.cat([parameter.grad.reshape(-1) for parameter in parameters])
        layout.reduce_bucket(flat, self.data_group)
        flat /= layout.gradient_divisor(self.replicas)
        for parameter, part in zip(parameters, flat.split([parameter.numel() for parameter in parameters])):
            parameter.grad.copy_(part.view_as(parameter))

    def gradient_norm(self):
        """Where it takes a call to know it; of a whole gradient every rank could compute it alone."""
        return None

    def step(self):
        self.optimizer.step()

    def state(self):
        return {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}

    def restore(self, state):
        self.model.load_state_dict(state["model"])
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
        """What is behind the end is padded, as frameworks do; torch refuses a slice that begins there."""
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
        self.gather()


class SumOverGroup(torch.autograd.Function):
    """Partial results become whole in the forward pass; every rank already has the whole gradient."""

    @staticmethod
    def forward(context, partial, group):
        total = partial.clone()
        layout.sum_partial_results(total, group)
        return total

    @staticmethod
    def backward(context, gradient):
        return gradient, None


class SumOfGradients(torch.autograd.Function):
    """The other way round: the input is whole, its gradient comes in parts."""

    @staticmethod
    def forward(context, batch, group):
        context.group = group
        return batch.clone()

    @staticmethod
    def backward(context, gradient):
        total = gradient.contiguous()
        layout.sum_partial_gradients(total, context.group)
        return total, None


class Block(nn.Sequential):
    """Two layers that are split together."""

    def __init__(self, width):
        super().__init__(nn.Linear(width, width), nn.Tanh(), nn.Linear(width, width, bias=False))

    def part(self, offset, length):
        inward, outward = self[0], self[2]
        return (
            inward.weight.detach().narrow(0, offset, length),
            inward.bias.detach().narrow(0, offset, length),
            outward.weight.detach().narrow(1, offset, length),
        )


class SplitBlock(nn.Module):
    """Columns of one matrix and the matching rows of the next, as tensor parallelism cuts a layer."""

    def __init__(self, width, group, place, size):
        super().__init__()
        self.group = group
        self.length = layout.shard_length(width // size)
        self.offset = layout.shard_offset(place * self.length)
        layout.show("layer.columns", self.offset, self.length, width)
        whole = Block(width)  # the same numbers on every rank
        self.inward, self.bias, self.outward = (
            nn.Parameter(part.clone()) for part in whole.part(self.offset, self.length)
        )

    def forward(self, batch):
        part = torch.tanh(
            nn.functional.linear(SumOfGradients.apply(batch, self.group), self.inward, self.bias)
        )
        return SumOverGroup.apply(nn.functional.linear(part, self.outward), self.group)


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
        self.tensor_group = layout.own_group(
            "tp", [range(start, start + size) for start in range(0, dist.get_world_size(), size)]
        )
        self.data_group = layout.own_group(
            "dp", [range(place, dist.get_world_size(), size) for place in range(size)]
        )
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


MODES = {"manual": Replicated, "ddp": Wrapped, "zero": Sharded, "tensor": TensorParallel}
