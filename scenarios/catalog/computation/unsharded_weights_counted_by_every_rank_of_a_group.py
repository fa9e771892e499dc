# scenarios/catalog/computation/unsharded_weights_counted_by_every_rank_of_a_group.py — The fixed program.
import torch
import torch.distributed as dist
from deadrank import check

WIDTH, STEPS, MAX_NORM = 8, 4, 0.5
torch.set_default_dtype(torch.float64)
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(1)
whole = [torch.randn(WIDTH, WIDTH) / 4, torch.randn(WIDTH)]  # a matrix that is cut by columns, and the gain before it
part = WIDTH // size


class Layer(torch.nn.Module):
    """The rank's columns of a matrix, and a gain that all ranks hold."""

    def __init__(self):
        super().__init__()
        self.gain = torch.nn.Parameter(whole[1].clone())
        self.columns = torch.nn.Parameter(whole[0][:, rank * part : (rank + 1) * part].clone())
        self.columns.sharded = True  # by tensor parallelism

    def forward(self, x):
        return (x * self.gain) @ self.columns


layer = Layer()
gain, columns = layer.gain, layer.columns
optimizer = torch.optim.SGD([columns, gain], lr=0.05)


def norm_of_gradients():
    """Each element of the model counts once: a shard on its rank, and what all ranks hold on the first of them."""
    squares = torch.zeros(())
    for one in (columns, gain):
        if getattr(one, "sharded", False) or rank == 0:
            squares += one.grad.square().sum()
    dist.all_reduce(squares)
    return squares.sqrt()


def norm_on_one_rank(x):
    weight, scale = (one.detach().requires_grad_() for one in (torch.cat(gathered, dim=1), gain))
    ((x * scale) @ weight).square().mean().backward()
    return torch.sqrt(weight.grad.square().sum() + scale.grad.square().sum())


for step in range(STEPS):
    x = torch.randn(4, WIDTH, generator=torch.Generator().manual_seed(step))
    loss = layer(x).square().sum() / (len(x) * WIDTH)  # the rank's part of the mean
    optimizer.zero_grad()
    loss.backward()
    dist.all_reduce(gain.grad)
    norm = norm_of_gradients()
    gathered = [torch.empty_like(columns) for _ in range(size)]
    dist.all_gather(gathered, columns.detach())
    check("reference.grad_norm", norm, norm_on_one_rank(x))
    for one in (columns, gain):
        one.grad *= (MAX_NORM / norm).clamp(max=1.0)
    optimizer.step()
dist.destroy_process_group()
