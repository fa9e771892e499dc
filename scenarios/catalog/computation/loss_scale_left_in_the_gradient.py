# scenarios/catalog/computation/loss_scale_left_in_the_gradient.py — The fixed program.
import torch
import torch.distributed as dist
from deadrank import check

WIDTH, STEPS, WINDOW = 8, 6, 2  # steps without an overflow, after which the scale is doubled
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(1)
model = torch.nn.Linear(WIDTH, 1)
half = torch.nn.Linear(WIDTH, 1).half()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)


class LossScaler:
    def __init__(self):
        self.scale, self.good = 256.0, 0

    def update(self, overflow):
        self.good = 0 if overflow else self.good + 1
        if overflow:
            self.scale /= 2
        elif self.good % WINDOW == 0:
            self.scale *= 2


def gradients(x, scale):
    """Of the half-precision copy, averaged over ranks. They carry the scale."""
    half.load_state_dict(model.state_dict())
    loss = half(x.half()).float().square().mean()
    made = [one.float() for one in torch.autograd.grad(loss * scale, list(half.parameters()))]
    for one in made:
        dist.all_reduce(one)
        one /= size
    return made


scaler = LossScaler()
for step in range(STEPS):
    x = torch.randn(4, WIDTH, generator=torch.Generator().manual_seed(100 * step + rank))
    made = gradients(x, scaler.scale)
    overflow = not all(one.isfinite().all() for one in made)
    for parameter, one in zip(model.parameters(), made, strict=True):
        parameter.grad = one / scaler.scale
    scaler.update(overflow)
    check("reference.gradient", model.weight.grad.norm(), gradients(x, 1.0)[0].norm())
    if not overflow:
        optimizer.step()
dist.destroy_process_group()
