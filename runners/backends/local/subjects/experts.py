# runners/backends/local/subjects/experts.py — A mixture of experts over ranks, by hand: shared layers
# everywhere, each sample sent to the rank that has its expert, and back.
import torch
import torch.distributed as dist
from torch import nn

import layout
import parallelism


def expert_of(features, experts):
    """The expert of each sample: the same on all ranks, however experts are split."""
    return (features.sum(1).abs() * 1000).long() % experts


class Mixture(nn.Module):
    """Shared layers, then one of the experts; `through` takes samples to theirs and returns the answers."""

    def __init__(self, options, own=slice(None), through=None):
        super().__init__()
        hidden = [layer for _ in range(options.layers) for layer in self.layer(options.width)]
        self.shared = nn.Sequential(*hidden)
        self.experts = nn.ModuleList([nn.Linear(options.width, 1) for _ in range(options.experts)][own])
        self.count, self.through = options.experts, through or self.answers

    @staticmethod
    def layer(width):
        return nn.Linear(width, width), nn.Tanh()

    def forward(self, features):
        return self.through(self.shared(features), expert_of(features, self.count))

    def answers(self, states, choice):
        found = [self.experts[expert](state) for state, expert in zip(states, choice.tolist())]
        return torch.stack(found) if found else states.new_zeros(0, 1)


class AllToAll(torch.autograd.Function):
    """Equal parts to every rank of the group; gradients go back the same way."""

    @staticmethod
    def forward(context, rows, group):
        context.group = group
        found = torch.empty_like(rows)
        dist.all_to_all_single(found, rows.contiguous(), group=group)
        return found

    @staticmethod
    def backward(context, gradient):
        found = torch.empty_like(gradient)
        dist.all_to_all_single(found, gradient.contiguous(), group=context.group)
        return found, None


class ExpertParallel(parallelism.Replicated):
    def __init__(self, options):
        self.options = options
        size, ranks = layout.expert_parallel_size(options.ep_size), dist.get_world_size()
        if size <= 0 or ranks % size or options.experts % size:
            raise AssertionError(
                f"{options.experts} experts and {ranks} ranks must be divisible by "
                f"expert parallel size {size}"
            )
        print(f"config ep_size={size}", flush=True)
        self.size, self.place, self.each = size, dist.get_rank() % size, options.experts // size
        own = slice(self.place * self.each, (self.place + 1) * self.each)
        families = [range(first, first + size) for first in range(0, ranks, size)]
        self.expert_group = layout.own_group("ep", families)
        self.expert_replicas = layout.own_group("edp", [range(place, ranks, size) for place in range(size)])
        layout.show("experts", own.start, self.each, options.experts)
        self.model = Mixture(options, own, self.exchanged)
        self.optimizer = self.make_optimizer(self.model.parameters())
        self.shard, self.shards = self.place, size

    writer = property(lambda self: dist.get_rank(self.expert_replicas) == 0)

    def serial(self):
        return Mixture(self.options)

    def owned(self, serial):
        own = slice(self.place * self.each, (self.place + 1) * self.each)
        return list(serial.shared.parameters()) + list(serial.experts[own].parameters())

    def exchanged(self, states, choice):
        """A row is a state followed by 1 + its expert; 0 marks an empty place."""
        room = len(states)
        filled, places = [0] * self.size, []
        for expert in choice.tolist():
            rank = expert // self.each
            by_rank = layout.dispatch_layout(0) == 0
            places.append(rank * room + filled[rank] if by_rank else filled[rank] * self.size + rank)
            filled[rank] += 1
        rows = states.new_zeros(self.size * room, self.options.width + 1)
        rows[places] = torch.cat([states, (choice + 1).unsqueeze(1).to(states.dtype)], 1)
        arrived = AllToAll.apply(rows, self.expert_group)
        here = [number for number, row in enumerate(arrived.detach()[:, -1].tolist()) if row > 0]
        asked = arrived.detach()[here, -1].long() - 1 - self.place * self.each
        answers = arrived[:, :1] * 0  # gradients go back even where no sample came
        answers[here] = self.model.answers(arrived[here, :-1], asked.clamp(0, self.each - 1))
        return AllToAll.apply(answers, self.expert_group)[places]

    def reduce(self):
        """Shared layers over all ranks, experts over those that have the same ones."""
        ranks = dist.get_world_size()
        samples = self.options.batch * ranks
        divided = (
            (self.model.shared, layout.reduce_bucket, None, layout.gradient_divisor(ranks) / ranks),
            (
                self.model.experts,
                layout.reduce_experts,
                self.expert_replicas,
                layout.expert_gradient_divisor(samples) / samples,
            ),
        )
        for module, summed, group, too_much in divided:
            parameters = list(module.parameters())
            for parameter in parameters:  # an expert without samples
                parameter.grad = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
            flat = torch.cat([parameter.grad.reshape(-1) for parameter in parameters])
            summed(flat, group)
            flat /= ranks * too_much
            for parameter, part in zip(parameters, layout.cut_like(flat, parameters)):
                parameter.grad.copy_(part)
