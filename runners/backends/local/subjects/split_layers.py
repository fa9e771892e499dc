# runners/backends/local/subjects/split_layers.py — Two layers cut over a group of ranks: columns of one
# matrix, rows of the next, and the sums that make it whole.
import torch
from torch import nn

import layout


class SumOverGroup(torch.autograd.Function):
    """Partial results are summed in the forward pass; every rank already has the whole gradient."""

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
