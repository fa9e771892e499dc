# scenarios/catalog/computation/prefetched_layer_used_before_it_arrived.py — The fixed program.
import torch
import torch.distributed as dist

WIDTH, LAYERS, STEPS = 4, 3, 6
torch.use_deterministic_algorithms(True)  # fresh memory is filled with nan, so that a missing wait is loud
dist.init_process_group("nccl")
rank, size = dist.get_rank(), dist.get_world_size()
device = torch.device("cuda", rank % torch.cuda.device_count()) if torch.cuda.is_available() else "cpu"


class Sharded(torch.nn.Module):
    """Layers of which each rank holds a part; a layer is gathered while the one before it computes."""

    def __init__(self):
        super().__init__()
        whole = [torch.randn(WIDTH * WIDTH, device=device) / WIDTH for _ in range(LAYERS)]
        self.shards = torch.nn.ParameterList([one.chunk(size)[rank].clone() for one in whole])

    def fetch(self, number):
        buffer = torch.empty(WIDTH * WIDTH, device=device)
        return buffer, dist.all_gather_into_tensor(buffer, self.shards[number].detach(), async_op=True)

    def forward(self, x):
        self.gathered = []
        following = self.fetch(0)
        for number in range(LAYERS):
            buffer, work = following
            work.wait()
            if number + 1 < LAYERS:
                following = self.fetch(number + 1)
            self.gathered.append(buffer.requires_grad_())
            x = x @ buffer.view(WIDTH, WIDTH)
        return x

    def reduce(self):
        """To each rank its part of the gradient."""
        for shard, buffer in zip(self.shards, self.gathered, strict=True):
            shard.grad = torch.empty_like(shard)
            dist.reduce_scatter_tensor(shard.grad, buffer.grad / size)


torch.manual_seed(1)
model = Sharded()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(STEPS):
    loss = model(torch.full((2, WIDTH), 1.0 / (step + rank + 1), device=device)).square().mean()
    loss.backward()
    model.reduce()
    optimizer.step()
dist.destroy_process_group()
