# tests/programs/python/users/workers.py — Loader workers, and a data set that was split into one file a rank
# beforehand: sample numbers begin at 0 on every rank. The last batch is smaller; an unshuffled loader
# validates on every rank.
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset


class Part(Dataset):
    def __init__(self, part, length):
        generator = torch.Generator().manual_seed(part)
        self.rows = torch.randn(length, 9, generator=generator)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index, :8], self.rows[index, 8:]


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1)))
    optimizer = torch.optim.Adam(model.parameters())
    criterion = nn.SmoothL1Loss()
    loader = DataLoader(Part(rank, 100), batch_size=12, shuffle=True, num_workers=2, persistent_workers=True)
    held = DataLoader(Part(99, 40), batch_size=20)
    for epoch in range(3):
        model.train()
        for inputs, targets in loader:
            optimizer.zero_grad()
            criterion(model(inputs), targets).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            loss = torch.stack([criterion(model(a), b) for a, b in held]).mean()
        dist.all_reduce(loss, op=dist.ReduceOp.AVG if dist.get_backend() == "nccl" else dist.ReduceOp.SUM)
        if rank == 0:
            print(f"epoch {epoch} {loss.item() / dist.get_world_size():.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
