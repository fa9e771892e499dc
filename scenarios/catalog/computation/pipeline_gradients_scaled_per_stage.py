# scenarios/catalog/computation/pipeline_gradients_scaled_per_stage.py — The fixed program.
import torch
import torch.distributed as dist
from deadrank import check

WIDTH, MICRO_BATCHES, STEPS = 4, 4, 4
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


def batch(step, micro):
    return torch.randn(2, WIDTH, generator=torch.Generator().manual_seed(10 * step + micro))


def forward(x):
    """The engine's forward pass, which all stages make: gradients of a step are to be a mean over its micro-batches."""
    output = stage(x)
    if last:
        output.register_hook(lambda gradient: gradient / MICRO_BATCHES)
    return output


def run_schedule(step):
    """All forward passes, then all backward passes."""
    inputs, outputs = [], []
    for micro in range(MICRO_BATCHES):
        x = batch(step, micro)
        if not first:
            dist.recv(x, rank - 1)
        inputs.append(x.requires_grad_(not first))
        outputs.append(forward(x))
        if not last:
            dist.send(outputs[-1].detach(), rank + 1)
    for x, output in zip(inputs, outputs, strict=True):
        if last:
            output.square().mean().backward()
        else:
            gradient = torch.empty_like(output)
            dist.recv(gradient, rank + 1)
            output.backward(gradient)
        if not first:
            dist.send(x.grad, rank - 1)


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
