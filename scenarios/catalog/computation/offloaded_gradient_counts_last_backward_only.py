# scenarios/catalog/computation/offloaded_gradient_counts_last_backward_only.py — The fixed program.
import torch
import torch.distributed as dist
from deadrank import check

MICRO_BATCHES, BATCH, WIDTH = 3, 6, 8
dist.init_process_group("nccl")
rank = dist.get_rank()
device = torch.device("cuda", rank % torch.cuda.device_count()) if torch.cuda.is_available() else "cpu"
torch.manual_seed(1)
model = torch.nn.Linear(WIDTH, 1).to(device)
master = [one.detach().clone().cpu() for one in model.parameters()]  # the optimizer works on the host
for one in master:
    one.grad = torch.zeros_like(one)
optimizer = torch.optim.SGD(master, lr=0.05)


def offload(parameter, copy):
    """Moves each gradient to the host as it comes."""

    def moved(_):
        copy.grad += parameter.grad.cpu()
        parameter.grad = None

    return moved


for parameter, copy in zip(model.parameters(), master):
    parameter.register_post_accumulate_grad_hook(offload(parameter, copy))


def loss_of(x):
    return model(x).square().sum() / BATCH


for step in range(6):
    data = torch.randn(BATCH, WIDTH, generator=torch.Generator().manual_seed(100 * step + rank)).to(device)
    for copy in master:
        copy.grad.zero_()
    for part in data.chunk(MICRO_BATCHES):
        loss_of(part).backward()
    whole = torch.autograd.grad(loss_of(data), model.weight)[0]  # of the batch in one piece
    check("gradient of the batch", master[0].grad.norm(), whole.norm())
    for copy in master:
        gradient = copy.grad.to(device)
        dist.all_reduce(gradient, op=dist.ReduceOp.AVG)
        copy.grad.copy_(gradient)
    optimizer.step()
    with torch.no_grad():
        for parameter, copy in zip(model.parameters(), master):
            parameter.copy_(copy)
dist.destroy_process_group()
