# scenarios/catalog/computation/inf_norm_turns_into_nan.py — The fixed program.
import torch
import torch.distributed as dist

WIDTH, STEPS, CLIP, SPIKE = 8, 10, 1.0, 5
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(1)
model = torch.nn.Linear(WIDTH, 1)
half = torch.nn.Linear(WIDTH, 1).half()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)


def norm_of(gradients):
    """The norm of all gradients; -1 where it is none."""
    norm = sum(one.square().sum() for one in gradients).sqrt()
    invalid = norm.isinf().logical_or(norm.isnan())
    return torch.where(invalid, torch.tensor(-1.0), norm)


for step in range(STEPS):
    half.load_state_dict(model.state_dict())
    x = torch.randn(4, WIDTH, generator=torch.Generator().manual_seed(100 * step + rank))
    if step == SPIKE and rank == 1:
        x *= 1000.0  # a batch whose gradient is more than half precision holds
    loss = (half(x.half()).float() - 1).square().sum()
    half.zero_grad()
    loss.backward()
    gradients = [one.grad.float() for one in half.parameters()]
    for one in gradients:
        dist.all_reduce(one)
        one /= size
    norm = norm_of(gradients)
    if norm < 0:
        print(f"step {step} is skipped: its gradient has no norm")
        optimizer.zero_grad()
        continue
    for parameter, one in zip(model.parameters(), gradients, strict=True):
        parameter.grad = one * (CLIP / (norm + 1e-6)).clamp(max=1.0)
    optimizer.step()
dist.destroy_process_group()
