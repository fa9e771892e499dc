# tests/programs/python/users/streams.py — An endless stream cut among ranks and loader workers, by-hand
# averaging of gradients in one flat buffer, and a learning rate that rank 0 decides and broadcasts.
import itertools

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.utils import parameters_to_vector
from torch.utils.data import DataLoader, IterableDataset, get_worker_info


class Stream(IterableDataset):
    def __init__(self, rank, world):
        self.rank, self.world = rank, world

    def __iter__(self):
        worker = get_worker_info()
        workers, mine = (worker.num_workers, worker.id) if worker else (1, 0)
        for index in itertools.count(self.rank * workers + mine, self.world * workers):
            generator = torch.Generator().manual_seed(index)
            row = torch.randn(15, generator=generator)
            yield row, row.abs().sum()


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(6)
    model = nn.Sequential(nn.Linear(15, 30), nn.ELU(), nn.Linear(30, 1))
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
    loader = DataLoader(Stream(rank, world), batch_size=8, num_workers=1)
    rate = torch.tensor([1e-3])
    for step, (inputs, targets) in enumerate(itertools.islice(loader, 30)):
        optimizer.zero_grad()
        loss = nn.functional.l1_loss(model(inputs).squeeze(1), targets)
        loss.backward()
        flat = parameters_to_vector([parameter.grad for parameter in model.parameters()])
        dist.all_reduce(flat)
        flat /= world
        begin = 0
        for parameter in model.parameters():
            parameter.grad.copy_(flat[begin : begin + parameter.numel()].view_as(parameter))
            begin += parameter.numel()
        optimizer.step()
        if step % 10 == 9:
            if rank == 0:
                rate *= 0.8
            dist.broadcast(rate, 0)
            for group in optimizer.param_groups:
                group["lr"] = rate.item()
    if rank == 0:
        print(f"ended with {loss.item():.3f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
