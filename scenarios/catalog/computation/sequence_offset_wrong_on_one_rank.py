# scenarios/catalog/computation/sequence_offset_wrong_on_one_rank.py — The fixed program.
import torch
import torch.distributed as dist
from deadrank import check

LENGTH, WIDTH, STEPS = 16, 8, 4
torch.set_default_dtype(torch.float64)
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
part = LENGTH // size  # positions of a rank
torch.manual_seed(1)
embedding = torch.nn.Embedding(32, WIDTH)
positions = torch.nn.Embedding(LENGTH + 1, WIDTH)  # counted from one
parameters = [*embedding.parameters(), *positions.parameters()]
optimizer = torch.optim.SGD(parameters, lr=0.05)


def position_ids(hidden, sp_rank):
    """Where this rank's part of the sequence lies in it."""
    length = hidden.shape[1]
    return 1 + sp_rank * length + torch.arange(length).unsqueeze(0)


def loss_of(tokens, sp_rank):
    hidden = embedding(tokens)
    hidden = hidden + positions(position_ids(hidden, sp_rank))
    return hidden.square().mean()


for step in range(STEPS):
    sequence = torch.randint(32, (2, LENGTH), generator=torch.Generator().manual_seed(step))
    mine = slice(rank * part, (rank + 1) * part)
    loss = loss_of(sequence[:, mine], rank)
    with torch.no_grad():
        whole = embedding(sequence) + positions(1 + torch.arange(LENGTH))
    check("reference.loss", loss, whole[:, mine].square().mean())
    optimizer.zero_grad()
    (loss / size).backward()
    for parameter in parameters:
        dist.all_reduce(parameter.grad)
    optimizer.step()
dist.destroy_process_group()
