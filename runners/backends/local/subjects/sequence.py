# runners/backends/local/subjects/sequence.py — A long sequence cut over ranks, by hand: each holds its
# positions, and every layer needs the neighbour's first one. Parameters are the same at every position, so
# gradients are summed over these ranks.
import torch
import torch.distributed as dist
from torch import nn

import layout
import parallelism
from split_layers import SumOverGroup

CHANNELS = 4


class Positions(nn.Module):
    """Layers over neighbouring positions; the last one's neighbour is the first. Gives the sum of its own."""

    def __init__(self, options, neighbour=lambda first: first):
        super().__init__()
        inward = [1] + [CHANNELS] * (options.layers - 1)
        self.layers = nn.ModuleList(nn.Conv1d(channels, CHANNELS, 2) for channels in inward)
        self.head = nn.Parameter(torch.randn(CHANNELS) / options.width)
        self.neighbour = neighbour

    def forward(self, positions):
        state = positions.unsqueeze(1)
        for layer in self.layers:
            state = torch.tanh(layer(torch.cat([state, self.neighbour(state[..., :1])], 2)))
        return (state * self.head.view(1, -1, 1)).sum((1, 2)).unsqueeze(1)


class FromNext(torch.autograd.Function):
    """The first position of the next rank; its gradient goes back there."""

    @staticmethod
    def forward(context, first, cut):
        context.cut = cut
        return cut.passed(first, -1)

    @staticmethod
    def backward(context, gradient):
        return context.cut.passed(gradient, 1), None


class Cut:
    """This rank's place among those that share a sequence."""

    def __init__(self, options, ranks, group):
        self.options, self.ranks, self.group = options, list(ranks), group
        self.place, self.size = self.ranks.index(dist.get_rank()), len(self.ranks)

    def passed(self, tensor, by):
        """To the rank `by` places on; gives what came from the other side."""
        tensor = tensor.contiguous()
        if self.size == 1:
            return tensor.clone()
        to, source = (self.place + by) % self.size, (self.place - by) % self.size
        return (self.ring if self.options.exchange == "ring" else self.all_to_all)(tensor, to, source)

    def ring(self, tensor, to, source):
        found = torch.empty_like(tensor)
        sent = dist.isend(tensor, self.ranks[layout.ring_peer(to) % self.size], group=self.group)
        dist.recv(found, self.ranks[source], group=self.group)
        sent.wait()
        return found

    def all_to_all(self, tensor, to, source):
        out = tensor.new_zeros(self.size, tensor.numel())
        out[layout.split_place(to) % self.size] = tensor.reshape(-1)
        found = torch.empty_like(out)
        rows = layout.exchanged_rows(self.size)  # more than there are, where the sequence does not divide
        sizes = [1] * (self.size - 1) + [1 + rows - self.size]
        dist.all_to_all_single(found, out, [1] * self.size, sizes, group=self.group)
        return found[source].view_as(tensor)


class ContextParallel(parallelism.Replicated):
    def __init__(self, options):
        self.options = options
        size = layout.context_parallel_size(options.cp_size)
        ranks, rank = dist.get_world_size(), dist.get_rank()
        if size <= 0 or ranks % size or options.width % size:
            raise AssertionError(
                f"sequence length {options.width} and world size {ranks} must be divisible by context "
                f"parallel size {size}"
            )
        print(f"config cp_size={size}", flush=True)
        cuts = [range(first, first + size) for first in range(0, ranks, size)]
        self.context_group = layout.own_group("cp", cuts)
        self.data_group = layout.own_group("dp", [range(place, ranks, size) for place in range(size)])
        self.group_number = rank // size
        self.cut = Cut(options, cuts[self.group_number], self.context_group)
        self.length = options.width // size
        self.offset = layout.sequence_offset(self.cut.place * self.length)
        layout.show("sequence", self.offset, self.length, options.width)
        self.model = Positions(options, lambda first: FromNext.apply(first, self.cut))
        self.optimizer = self.make_optimizer(self.model.parameters())

    replica = property(lambda self: self.group_number)
    replicas = property(lambda self: dist.get_world_size(self.data_group))

    def serial(self):
        return Positions(self.options)

    def compute(self, features, targets, device):
        self.clear_gradients()
        own = features.narrow(1, self.offset, self.length)
        whole = SumOverGroup.apply(self.model(own), self.context_group)
        loss = nn.functional.mse_loss(whole, targets)
        device()
        loss.backward()
        return loss

    def reduce(self):
        """First over the parts of a sequence, then over the replicas."""
        parameters = list(self.model.parameters())
        flat = torch.cat([parameter.grad.reshape(-1) for parameter in parameters])
        layout.sum_over_context(flat, self.context_group)
        self.reduce_together(parameters, layout.cut_like(flat, parameters))
