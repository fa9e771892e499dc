# scenarios/catalog/fault_tolerance/sequence_rank_used_as_model_rank.py — The fixed program.
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

STEPS, SAVE_EVERY, LATEST = 12, 3, "latest"
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
sequence_group = dist.new_group(range(size))  # all ranks cut one sequence
model_group = [dist.new_group([one]) for one in range(size)][rank]  # and each of them has the whole model


def path_of(step):
    """The file of this rank's part of the model."""
    return f"global_step{step}/mp_rank_{dist.get_rank(model_group):02d}_model_states.pt"


torch.manual_seed(1)
model = DistributedDataParallel(torch.nn.Linear(8, 1), process_group=sequence_group)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
begin = 0
if os.path.exists(LATEST):
    with open(LATEST) as file:
        saved = torch.load(path_of(int(file.read())))
    begin = saved["step"] + 1
    model.load_state_dict(saved["model"])
for step in range(begin, STEPS):
    data = torch.randn(4, 8, generator=torch.Generator().manual_seed(100 * step + rank))
    loss = (model(data) - 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % SAVE_EVERY == SAVE_EVERY - 1:
        if rank == 0:
            os.makedirs(f"global_step{step}", exist_ok=True)
            torch.save({"step": step, "model": model.state_dict()}, f"global_step{step}/mp_rank_00_model_states.pt")
            with open(LATEST, "w") as file:
                file.write(str(step))
        dist.barrier()
dist.destroy_process_group()
