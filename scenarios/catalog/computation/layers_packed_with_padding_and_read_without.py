# scenarios/catalog/computation/layers_packed_with_padding_and_read_without.py — The fixed program.
import torch
import torch.distributed as dist
from deadrank import check

WIDTH, STEPS, ALIGN = 10, 4, 16  # elements: a layer begins at a multiple of it
torch.set_default_dtype(torch.float64)
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU(), torch.nn.Linear(WIDTH, WIDTH))
parameters = list(model.parameters())
optimizer = torch.optim.SGD(parameters, lr=0.05)


def aligned(elements):
    return -(-elements // ALIGN) * ALIGN


def offsets():
    """Where each layer begins in the buffer; and its length."""
    begin = [0]
    for one in parameters:
        begin.append(begin[-1] + aligned(one.numel()))
    return begin


def pack():
    buffer, begin = torch.zeros(offsets()[-1]), offsets()
    for one, at in zip(parameters, begin, strict=False):
        buffer[at : at + one.numel()] = one.grad.flatten()
    return buffer


def unpack(buffer):
    begin = offsets()
    for one, at in zip(parameters, begin, strict=False):
        one.grad.copy_(buffer[at : at + one.numel()].view_as(one))


def batch(step, of):
    return torch.randn(4, WIDTH, generator=torch.Generator().manual_seed(100 * step + of))


for step in range(STEPS):
    x = torch.cat([batch(step, of) for of in range(size)])
    expected = torch.autograd.grad(model(x).square().mean(), parameters)  # of the whole batch, on one rank
    optimizer.zero_grad()
    model(batch(step, rank)).square().mean().backward()
    buffer = pack()
    dist.all_reduce(buffer)
    unpack(buffer / size)
    for name, one in (("first", 0), ("last", 2)):
        check(f"reference.gradient of the {name} layer", parameters[one].grad.norm(), expected[one].norm())
    optimizer.step()
dist.destroy_process_group()
