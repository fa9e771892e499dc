# scenarios/catalog/scheduling/gradient_sync_missed_on_last_stage.py — The fixed program.
import torch
import torch.distributed as dist
from deadrank import digest

PP, WIDTH, MICRO_BATCHES, STEPS = 2, 4, 3, 4
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
replicas = size // PP
stage, replica = divmod(rank, replicas)
groups = [dist.new_group(range(one * replicas, (one + 1) * replicas)) for one in range(PP)]
last = stage == PP - 1
torch.manual_seed(1 + stage)
model = torch.nn.Linear(WIDTH, WIDTH)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
sent = []  # messages under way
sync = False  # whether the next backward pass is to reduce what has added up


def reduce(parameter):
    if sync:
        parameter.grad /= replicas
        dist.all_reduce(parameter.grad, group=groups[stage])


for parameter in model.parameters():
    parameter.register_post_accumulate_grad_hook(reduce)


def forward(step, micro):
    x = torch.randn(2, WIDTH, generator=torch.Generator().manual_seed(100 * step + 10 * replica + micro))
    if stage > 0:
        dist.recv(x, rank - replicas)
    x.requires_grad_(stage > 0)
    output = model(x)
    if not last:
        sent.append(dist.isend(output.detach(), rank + replicas))
    return x, output


def backward(x, output):
    if last:
        (output.square().mean() / MICRO_BATCHES).backward()
    else:
        gradient = torch.empty_like(output)
        dist.recv(gradient, rank + replicas)
        output.backward(gradient)
    if stage > 0:
        sent.append(dist.isend(x.grad, rank - replicas))


def one_forward_one_backward(step):
    global sync
    warm_up = min(PP - 1 - stage, MICRO_BATCHES)
    remaining = MICRO_BATCHES - warm_up
    waiting = [forward(step, micro) for micro in range(warm_up)]
    for micro in range(remaining):
        waiting.append(forward(step, warm_up + micro))
        sync = warm_up == 0 and micro == remaining - 1  # without a warm-up there is no cool-down either
        backward(*waiting.pop(0))
    for micro in range(warm_up):
        sync = micro == warm_up - 1
        backward(*waiting.pop(0))


for step in range(STEPS):
    optimizer.zero_grad()
    one_forward_one_backward(step)
    for work in sent:
        work.wait()
    sent.clear()
    optimizer.step()
    digest("weights", list(model.parameters()), group=f"stage {stage}")
dist.destroy_process_group()
