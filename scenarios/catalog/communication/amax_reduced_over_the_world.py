# scenarios/catalog/communication/amax_reduced_over_the_world.py — The fixed program.
import torch
import torch.distributed as dist

STAGES, WIDTH, STEPS = 2, 8, 4
dist.init_process_group("nccl")
rank, size = dist.get_rank(), dist.get_world_size()
device = torch.device("cuda", rank % torch.cuda.device_count()) if torch.cuda.is_available() else "cpu"
replicas = size // STAGES
stage, replica = divmod(rank, replicas)
groups = [dist.new_group(range(one * replicas, (one + 1) * replicas)) for one in range(STAGES)]
stage_group = groups[stage]
dist.barrier()  # makes the communicator that messages go over
torch.manual_seed(1 + stage)
layer = torch.nn.Linear(WIDTH, WIDTH).to(device)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.05)


def quantised(x):
    """As eight-bit numbers would hold it: the scale is that of the largest activation of the stage."""
    largest = x.detach().abs().max()
    dist.all_reduce(largest, op=dist.ReduceOp.MAX, group=stage_group)
    scale = largest / 127
    return x + ((x / scale).round() * scale - x).detach()


def exchange(call, tensor, peer):
    for work in dist.batch_isend_irecv([dist.P2POp(call, tensor, peer)]):
        work.wait()


for step in range(STEPS):
    x = torch.full((4, WIDTH), 1.0 / (step + replica + 1), device=device)
    if stage > 0:
        exchange(dist.irecv, x, rank - replicas)
    output = quantised(layer(x.requires_grad_()))
    if stage < STAGES - 1:
        exchange(dist.isend, output.detach(), rank + replicas)
        gradient = torch.empty_like(output)
        exchange(dist.irecv, gradient, rank + replicas)
        output.backward(gradient)
    else:
        output.square().mean().backward()
        exchange(dist.isend, x.grad, rank - replicas)
    for parameter in layer.parameters():
        dist.all_reduce(parameter.grad, group=stage_group)
    optimizer.step()
    optimizer.zero_grad()
dist.destroy_process_group()
