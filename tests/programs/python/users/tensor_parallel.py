# tests/programs/python/users/tensor_parallel.py — Tensor parallel by DTensor: the feed-forward's first
# matrix by columns, the second by rows; all ranks see the same batch. Norms stay whole on every rank.
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, width * 4)
        self.down = nn.Linear(width * 4, width)

    def forward(self, hidden):
        return hidden + self.down(torch.relu(self.up(self.norm(hidden))))


def main():
    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (dist.get_world_size(),), mesh_dim_names=("tp",))
    torch.manual_seed(3)
    model = nn.Sequential(*(Block(32) for _ in range(2)), nn.Linear(32, 8))
    for block in model[:2]:
        parallelize_module(block, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
    criterion = nn.MSELoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2, foreach=False)
    generator = torch.Generator().manual_seed(11)
    for step in range(25):
        inputs = torch.randn(16, 32, generator=generator)
        target = inputs[:, :8] * 2
        loss = criterion(model(inputs), target)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print(f"rank {dist.get_rank()} ends at {loss.item():.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
