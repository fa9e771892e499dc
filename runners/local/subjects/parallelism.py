# runners/local/subjects/parallelism.py — Four ways to spread one toy model over ranks, each by plain torch.distributed calls.
# Values are real: whoever takes the wrong shard trains a different model.
import torch
import torch.distributed as dist
from torch import nn

FEATURES, HIDDEN = 8, 16


def toy_model():
    return nn.Sequential(nn.Linear(FEATURES, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, 1))


def shard_offset(size):
    """Where this rank's part of a tensor begins that is cut into equal parts."""
    return dist.get_rank() * size


class Replicated:
    """Every rank holds the whole model; gradients are averaged by hand, parameter by parameter."""

    def __init__(self, learning_rate):
        self.model = toy_model()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=learning_rate, momentum=0.9)

    def reduce_and_step(self):
        for parameter in self.model.parameters():
            dist.all_reduce(parameter.grad)
            parameter.grad /= dist.get_world_size()
        self.optimizer.step()

    def state(self):
        return {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}

    def restore(self, state):
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])


class Wrapped(Replicated):
    """DistributedDataParallel: gradients are averaged in buckets while backward runs."""

    def __init__(self, learning_rate):
        super().__init__(learning_rate)
        self.model = nn.parallel.DistributedDataParallel(self.model)

    def reduce_and_step(self):
        self.optimizer.step()


class Sharded(Replicated):
    """ZeRO stage 1: the parameters are one flat vector; each rank optimizes its own slice and gathers the others'."""

    def __init__(self, learning_rate):
        self.model = toy_model()
        ranks = dist.get_world_size()
        flat = torch.cat([p.detach().reshape(-1) for p in self.model.parameters()])
        self.flat = nn.functional.pad(flat, (0, -flat.numel() % ranks))
        self.gradients = torch.zeros_like(self.flat)
        offset = 0
        for parameter in self.model.parameters():
            end = offset + parameter.numel()
            parameter.data = self.flat[offset:end].view_as(parameter)
            parameter.grad = self.gradients[offset:end].view_as(parameter)
            offset = end
        self.shard = nn.Parameter(self.own_slice(self.flat).clone())
        self.optimizer = torch.optim.SGD([self.shard], lr=learning_rate, momentum=0.9)

    def own_slice(self, flat):
        size = flat.numel() // dist.get_world_size()
        return flat.narrow(0, shard_offset(size), size)

    def reduce_and_step(self):
        mean = torch.empty_like(self.shard)
        dist.reduce_scatter_tensor(mean, self.gradients)
        self.shard.grad = mean / dist.get_world_size()
        self.optimizer.step()
        pieces = list(self.flat.chunk(dist.get_world_size()))
        dist.all_gather(pieces, self.shard.detach())

    def state(self):
        return {"shard": self.shard.detach(), "optimizer": self.optimizer.state_dict()}

    def restore(self, state):
        self.shard.data.copy_(state["shard"])
        self.optimizer.load_state_dict(state["optimizer"])
        dist.all_gather(list(self.flat.chunk(dist.get_world_size())), self.shard.detach())


class SumOverRanks(torch.autograd.Function):
    @staticmethod
    def forward(context, partial):
        total = partial.clone()
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(context, gradient):
        return gradient


class SplitLayer(nn.Module):
    """A hidden layer split over ranks: each has some of its columns going in and the same rows coming out."""

    def __init__(self):
        super().__init__()
        whole = toy_model()  # every rank draws the same numbers, then keeps its own part
        self.inward = nn.Parameter(self.own_part(whole[0].weight.detach()))
        self.bias = nn.Parameter(self.own_part(whole[0].bias.detach()))
        self.outward = nn.Parameter(self.own_part(whole[2].weight.detach().t()))
        self.register_buffer("offset", whole[2].bias.detach().clone())

    def own_part(self, weight):
        size = weight.shape[0] // dist.get_world_size()
        return weight.narrow(0, shard_offset(size), size).clone()

    def forward(self, batch):
        hidden = torch.tanh(nn.functional.linear(batch, self.inward, self.bias))
        return SumOverRanks.apply(hidden @ self.outward) + self.offset


class TensorParallel(Replicated):
    """Every rank sees the same samples and holds a part of each layer."""

    def __init__(self, learning_rate):
        self.model = SplitLayer()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=learning_rate, momentum=0.9)

    def reduce_and_step(self):
        self.optimizer.step()


MODES = {"manual": Replicated, "ddp": Wrapped, "zero": Sharded, "tensor": TensorParallel}
