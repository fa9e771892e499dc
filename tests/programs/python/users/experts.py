# tests/programs/python/users/experts.py — A mixture of experts: one expert on each rank, tokens go to it and
# back by all_to_all; the gate is replicated by hand-averaged gradients, the experts are not.
import torch
import torch.distributed as dist
from torch import nn


class Exchange(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tokens):
        out = torch.empty_like(tokens)
        dist.all_to_all_single(out, tokens.contiguous())
        return out

    @staticmethod
    def backward(ctx, gradient):
        out = torch.empty_like(gradient)
        dist.all_to_all_single(out, gradient.contiguous())
        return out


class Mixture(nn.Module):
    def __init__(self, width, world):
        super().__init__()
        self.gate = nn.Linear(width, width)
        self.expert = nn.Sequential(nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width))

    def forward(self, tokens):
        there = Exchange.apply(torch.tanh(self.gate(tokens)))
        return tokens + Exchange.apply(self.expert(there))


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    model = Mixture(16, world)
    torch.manual_seed(rank)
    for parameter in model.expert.parameters():
        nn.init.normal_(parameter, std=0.1)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(25):
        tokens = torch.randn(8 * world, 16)
        loss = nn.functional.mse_loss(model(tokens), tokens.roll(1, 1))
        optimizer.zero_grad()
        loss.backward()
        for parameter in model.gate.parameters():
            dist.all_reduce(parameter.grad)
            parameter.grad /= world
        optimizer.step()
    print(f"rank {rank}: {loss.item():.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
