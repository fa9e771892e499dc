# scenarios/catalog/fault_tolerance/writer_missing_for_one_tensor_shard.py — The fixed program.
import os

import torch
import torch.distributed as dist

TP, WIDTH, STEPS, SAVE_EVERY = 2, 4, 8, 3
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
tp_rank, dp_rank = rank % TP, rank // TP  # of the dense layers; experts are spread over all ranks
torch.manual_seed(1 + tp_rank)
dense = torch.nn.Linear(WIDTH, WIDTH)  # a part of it: the same on ranks that differ in their dp_rank alone
torch.manual_seed(10 + rank)
expert = torch.nn.Linear(WIDTH, WIDTH)  # on this rank alone
optimizer = torch.optim.SGD([*dense.parameters(), *expert.parameters()], lr=0.05)
replicas = [dist.new_group(range(one, size, TP)) for one in range(TP)][tp_rank]


def save(step):
    """Of ranks that hold one thing, one writes it."""
    os.makedirs(f"step_{step}", exist_ok=True)
    expert_dp_rank = 0  # no other rank holds this expert
    if dp_rank == 0:
        torch.save(dense.state_dict(), f"step_{step}/dense_shard{tp_rank}of{TP}.pt")
    if expert_dp_rank == 0:
        torch.save(expert.state_dict(), f"step_{step}/expert_shard{rank}of{size}.pt")
    dist.barrier()


for step in range(STEPS):
    loss = expert(dense(torch.full((2, WIDTH), 1.0 / (step + rank + 1)))).square().mean()
    optimizer.zero_grad()
    loss.backward()
    for parameter in dense.parameters():
        dist.all_reduce(parameter.grad, group=replicas)
    optimizer.step()
    if step % SAVE_EVERY == SAVE_EVERY - 1:
        save(step)
dist.destroy_process_group()
