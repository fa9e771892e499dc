# scenarios/catalog/scheduling/warm_up_counts_micro_batches_that_do_not_exist.py — The fixed program.
import torch
import torch.distributed as dist
from deadrank import loss, phase

MICRO_BATCHES, WIDTH, STEPS = 2, 4, 4
dist.init_process_group("gloo")
rank, stages = dist.get_rank(), dist.get_world_size()
first, last = rank == 0, rank == stages - 1
torch.manual_seed(rank)
stage = torch.nn.Linear(WIDTH, WIDTH)
optimizer = torch.optim.SGD(stage.parameters(), lr=0.1)


def make_schedule():
    """Forward passes of the warm-up, then one forward and one backward in turn, then the backward passes that
    are left. Each backward pass must find its forward pass."""
    warm_up = min(stages - 1 - rank, MICRO_BATCHES)
    table = [("forward", i) for i in range(min(warm_up, MICRO_BATCHES))]
    for i in range(MICRO_BATCHES - warm_up):
        table += [("forward", warm_up + i), ("backward", i)]
    table += [("backward", MICRO_BATCHES - warm_up + i) for i in range(warm_up)]
    made_at = {i: place for place, (kind, i) in enumerate(table) if kind == "forward"}
    return [(kind, i, table[made_at.get(i)]) for kind, i in table]


schedule = make_schedule()
for step in range(STEPS):
    inputs, outputs, sent, total = {}, {}, [], 0.0
    for kind, i, _ in schedule:
        with phase(kind):
            if kind == "forward":
                inputs[i] = torch.full((1, WIDTH), i + 1.0)
                if not first:
                    dist.recv(inputs[i], rank - 1)
                outputs[i] = stage(inputs[i].requires_grad_())
                if not last:
                    sent.append(dist.isend(outputs[i].detach(), rank + 1))
            elif last:
                value = outputs[i].square().mean()
                value.backward()
                total += value.item()
            else:
                gradient = torch.empty(1, WIDTH)
                dist.recv(gradient, rank + 1)
                outputs[i].backward(gradient)
            if kind == "backward" and not first:
                sent.append(dist.isend(inputs[i].grad, rank - 1))
    for work in sent:
        work.wait()
    optimizer.step()
    optimizer.zero_grad()
    whole = torch.tensor(total)
    dist.broadcast(whole, stages - 1)
    loss(whole)
dist.destroy_process_group()
