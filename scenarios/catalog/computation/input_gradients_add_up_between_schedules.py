# scenarios/catalog/computation/input_gradients_add_up_between_schedules.py — The fixed program.
import torch
import torch.distributed as dist
from deadrank import check

WIDTH, MICRO_BATCHES, STEPS = 4, 3, 4
torch.set_default_dtype(torch.float64)
dist.init_process_group("gloo")
rank, stages = dist.get_rank(), dist.get_world_size()
first, last = rank == 0, rank == stages - 1
torch.manual_seed(1)
alone = torch.nn.Sequential(*[torch.nn.Linear(WIDTH, WIDTH) for _ in range(stages)])  # the same training on one rank
stage = torch.nn.Linear(WIDTH, WIDTH)
stage.load_state_dict(alone[rank].state_dict())
optimizer = torch.optim.SGD(stage.parameters(), lr=0.05)
reference = torch.optim.SGD(alone.parameters(), lr=0.05)
buffers = [torch.zeros(2, WIDTH).requires_grad_(not first) for _ in range(MICRO_BATCHES)]  # inputs come in these


def batch(step, micro):
    return torch.randn(2, WIDTH, generator=torch.Generator().manual_seed(10 * step + micro))


def run_schedule(step):
    """All forward passes, then all backward passes."""
    outputs = []
    for micro, buffer in enumerate(buffers):
        if first:
            buffer.copy_(batch(step, micro))
        else:
            dist.recv(buffer.detach(), rank - 1)
        outputs.append(stage(buffer))
        if not last:
            dist.send(outputs[-1].detach(), rank + 1)
    for buffer, output in zip(buffers, outputs, strict=True):
        if last:
            (output.square().mean() / MICRO_BATCHES).backward()
        else:
            gradient = torch.empty_like(output)
            dist.recv(gradient, rank + 1)
            output.backward(gradient)
        if not first:
            dist.send(buffer.grad, rank - 1)
    for buffer in buffers:
        buffer.grad = None


for step in range(STEPS):
    reference.zero_grad()
    for micro in range(MICRO_BATCHES):
        (alone(batch(step, micro)).square().mean() / MICRO_BATCHES).backward()
    optimizer.zero_grad()
    run_schedule(step)
    check("reference.gradient", stage.weight.grad.norm(), alone[rank].weight.grad.norm())
    optimizer.step()
    reference.step()
dist.destroy_process_group()
