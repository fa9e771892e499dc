# tests/programs/python/users/functional.py — Collectives by their functional form, coalesced calls,
# point-to-point in a ring, a group of the even and one of the odd ranks, and a compiled-style training
# function.
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from torch import nn


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    halves = [dist.new_group(list(range(start, world, 2))) for start in range(min(2, world))]
    mine = halves[rank % len(halves)]
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(10, 32), nn.SiLU(), nn.Linear(32, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    torch.manual_seed(rank)
    for step in range(25):
        inputs = torch.randn(12, 10)
        loss = (model(inputs) - inputs).square().mean()
        optimizer.zero_grad()
        loss.backward()
        for parameter in model.parameters():
            parameter.grad = functional.all_reduce(parameter.grad, "sum", dist.group.WORLD) / world
        optimizer.step()
        token = torch.tensor([float(rank)])
        got = torch.zeros(1)
        ring = [
            dist.P2POp(dist.isend, token, (rank + 1) % world),
            dist.P2POp(dist.irecv, got, (rank - 1) % world),
        ]
        for work in dist.batch_isend_irecv(ring):
            work.wait()
        share = loss.detach().clone()
        dist.all_reduce(share, group=mine)
    gathered = functional.all_gather_tensor(loss.detach().reshape(1), 0, dist.group.WORLD)
    if rank == 0:
        print(f"losses {[round(v, 3) for v in gathered.tolist()]}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
