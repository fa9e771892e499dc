# tests/programs/python/users/join.py — Uneven inputs: each rank has another number of batches of its own,
# and Join lets those that are through shadow the collectives of the others.
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(10, 20), nn.Tanh(), nn.Linear(20, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    loss_of = nn.MSELoss()
    torch.manual_seed(rank + 1)
    count = 40 + 24 * rank
    mine = TensorDataset(torch.randn(count, 10), torch.randn(count, 1))
    loader = DataLoader(mine, batch_size=8, shuffle=True)
    for epoch in range(3):
        with Join([model]):
            for inputs, targets in loader:
                optimizer.zero_grad()
                loss = loss_of(model(inputs), targets)
                loss.backward()
                optimizer.step()
        print(f"rank {rank} epoch {epoch}: {len(loader)} batches, {loss.item():.3f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
