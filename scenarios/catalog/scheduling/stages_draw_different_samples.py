# scenarios/catalog/scheduling/stages_draw_different_samples.py — The fixed program.
import torch
import torch.distributed as dist
from deadrank import loss as tell_loss
from deadrank import samples

SEED, SAMPLES, BATCH, WIDTH, STEPS = 1, 1024, 4, 4, 6
dist.init_process_group("gloo")
rank, stages = dist.get_rank(), dist.get_world_size()
first, last = rank == 0, rank == stages - 1


class MadeUp(torch.utils.data.IterableDataset):
    """Draws each item as it is asked for it: an input, and the label that belongs to it."""

    def __init__(self):
        self.generator = torch.Generator().manual_seed(SEED)

    def __iter__(self):
        while True:
            number = int(torch.randint(SAMPLES, (), generator=self.generator))
            yield number, torch.full((WIDTH,), number / SAMPLES), torch.tensor([number / SAMPLES])


torch.manual_seed(rank)
stage = torch.nn.Linear(WIDTH, WIDTH)
optimizer = torch.optim.SGD(stage.parameters(), lr=0.1)
batches = iter(torch.utils.data.DataLoader(MadeUp(), batch_size=BATCH)) if first or last else None
for step in range(STEPS):
    if first or last:  # the first stage takes the inputs, the last one the labels
        numbers, inputs, labels = next(batches)
        samples(numbers.tolist(), group="pipeline")
    if not first:
        dist.recv(inputs := torch.empty(BATCH, WIDTH), rank - 1)
    output = stage(inputs.requires_grad_(not first))
    optimizer.zero_grad()
    if last:
        value = (output.mean(dim=1, keepdim=True) - labels).square().mean()
        value.backward()
    else:
        dist.send(output.detach(), rank + 1)
        gradient = torch.empty_like(output)
        dist.recv(gradient, rank + 1)
        output.backward(gradient)
        value = torch.zeros(())
    if not first:
        dist.send(inputs.grad, rank - 1)
    value = value.detach()
    dist.broadcast(value, stages - 1)
    tell_loss(value)
    optimizer.step()
dist.destroy_process_group()
