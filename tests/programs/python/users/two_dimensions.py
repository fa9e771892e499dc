# tests/programs/python/users/two_dimensions.py — Two dimensions: the model is sharded within pairs and
# replicated between them (HSDP) where there are four ranks, and only sharded where there are two.
# Activations are computed anew in the backward pass.
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.GELU(),
                                   nn.Linear(2 * width, width))

    def forward(self, hidden):
        return hidden + checkpoint(self.inner, hidden, use_reentrant=False)


def main():
    dist.init_process_group("gloo")
    world = dist.get_world_size()
    sharded = 2 if world % 2 == 0 else 1
    mesh = init_device_mesh("cpu", (world // sharded, sharded), mesh_dim_names=("replicate", "shard"))
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 48), *(Block(48) for _ in range(3)), nn.Linear(48, 1))
    for block in model[1:4]:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    torch.manual_seed(dist.get_rank())
    for step in range(20):
        inputs = torch.randn(8, 16)
        loss = nn.functional.mse_loss(model(inputs), inputs.sum(1, keepdim=True))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    mean = loss.detach().clone()
    dist.all_reduce(mean)
    if dist.get_rank() == 0:
        print(f"loss {mean.item() / world:.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
