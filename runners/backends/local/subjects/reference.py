# runners/backends/local/subjects/reference.py — The same training on one rank, in plain serial code on the
# same samples: each step prints this rank's parameters and loss beside it. Both are in doubles, so that six
# digits agree.
import torch
from torch import nn

import dropout

MOMENTUM = 0.9  # as parallelism.make_optimizer


class Reference:
    def __init__(self, training, options, data):
        self.training, self.options, self.data = training, options, data
        with torch.random.fork_rng():
            torch.random.default_generator.manual_seed(options.seed)
            self.model = training.serial().eval()
        self.velocity = [torch.zeros_like(parameter) for parameter in self.model.parameters()]
        self.next, self.loss, self.norm = 0, 0.0, 0.0

    def samples(self, step):
        """Of all replicas together: a sampler deals its shuffled list out, one by one."""
        replicas = self.training.replicas
        each = -(-len(self.data) // replicas)
        epoch, number = divmod(step, -(-each // self.options.batch))
        ids = list(range(len(self.data)))
        if not self.options.in_order:
            generator = torch.Generator().manual_seed(self.options.seed + epoch)
            ids = torch.randperm(len(self.data), generator=generator).tolist()
        ids += ids[: each * replicas - len(ids)]
        together = self.options.batch * replicas
        features, targets = self.data[ids[number * together : (number + 1) * together]]
        if self.options.dropout:
            masked = [self.masked(features[replica::replicas], step, replica) for replica in range(replicas)]
            features = torch.stack(masked, 1).reshape(features.shape)
        return features, targets

    def masked(self, features, step, replica):
        seed = self.options.seed + replica
        return dropout.masked(features, self.options.dropout, seed, step * self.options.batch)

    def advance_to(self, step):
        for self.next in range(self.next, step + 1):
            features, targets = self.samples(self.next)
            loss = nn.functional.mse_loss(self.model(features), targets)
            parameters = list(self.model.parameters())
            found = torch.autograd.grad(loss, parameters, allow_unused=True)
            gradients = [torch.zeros_like(p) if one is None else one for p, one in zip(parameters, found)]
            with torch.no_grad():
                for parameter, velocity, gradient in zip(parameters, self.velocity, gradients):
                    velocity.mul_(MOMENTUM).add_(gradient)
                    parameter.sub_(velocity, alpha=self.options.learning_rate)
            self.loss = float(loss.detach())
            self.norm = float(torch.cat([gradient.reshape(-1) for gradient in gradients]).norm())
        self.next = step + 1

    def show(self, step, loss, norm):
        self.advance_to(step)
        own = weighed(self.training.own())
        print(
            f"value name=reference.parameters step={step} is={own!r} "
            f"should={weighed(self.training.owned(self.model))!r}",
            flush=True,
        )
        print(f"value name=reference.loss step={step} is={loss!r} should={self.loss!r}", flush=True)
        if norm is not None:
            print(
                f"value name=reference.gradient_norm step={step} is={norm!r} should={self.norm!r}", flush=True
            )


def weighed(tensors):
    """One number for all of them, in which exchanged ones show."""
    flat = torch.cat([tensor.detach().reshape(-1) for tensor in tensors])
    return float((flat * torch.arange(1, len(flat) + 1)).sum())
