# scenarios/catalog/computation/second_all_to_all_takes_uneven_path.py — The fixed program.
import torch
import torch.distributed as dist

HEADS, WIDTH, LENGTH, STEPS = 6, 2, 8, 4
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
part = LENGTH // size  # positions of a rank
heads = [HEADS // size + (peer < HEADS % size) for peer in range(size)]  # of each rank, between the two exchanges
torch.manual_seed(1)
projection = torch.nn.Linear(HEADS * WIDTH, HEADS * WIDTH)
optimizer = torch.optim.SGD(projection.parameters(), lr=0.05)


def to_heads(x):
    """From all heads of the rank's positions to the rank's heads of all positions."""
    sends = [one * part for one in heads]
    takes = [heads[rank] * part] * size
    received = torch.empty(sum(takes), WIDTH)
    dist.all_to_all_single(received, x.transpose(0, 1).reshape(-1, WIDTH).contiguous(), takes, sends)
    return received.view(size, heads[rank], part, WIDTH).transpose(0, 1).reshape(heads[rank], LENGTH, WIDTH)


def to_positions(x):
    """Back: each peer gets its positions, and sends its heads."""
    sends = [heads[rank] * part] * size
    takes = [one * part for one in heads]
    received = torch.empty(HEADS * part, WIDTH)
    rows = x.view(heads[rank], size, part, WIDTH).transpose(0, 1).reshape(-1, WIDTH).contiguous()
    dist.all_to_all_single(received, rows, takes, sends)
    return received.view(HEADS, part, WIDTH).transpose(0, 1)


for step in range(STEPS):
    x = torch.full((part, HEADS * WIDTH), 1.0 / (step + rank + 1))
    queries = projection(x)
    attended = to_positions(to_heads(queries.detach().view(part, HEADS, WIDTH)).softmax(dim=1))
    loss = (queries - attended.reshape(part, -1)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    for parameter in projection.parameters():
        dist.all_reduce(parameter.grad)
    optimizer.step()
dist.destroy_process_group()
