# scenarios/catalog/fault_tolerance/second_resume_goes_on_where_the_first_did.py — The fixed program.
import copy
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

PATH, STEPS, SAVE_EVERY = "checkpoint.pt", 14, 3
dist.init_process_group("nccl")
rank = dist.get_rank()
device = torch.device("cuda", rank % torch.cuda.device_count()) if torch.cuda.is_available() else "cpu"
torch.manual_seed(1)
model = DistributedDataParallel(torch.nn.Linear(8, 1).to(device))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)


class TrainState:
    step = -1  # the last one that was done


class Checkpointer:
    """Saves and loads the objects that it was given."""

    def __init__(self, train_state):
        self.train_state = train_state

    def save(self):
        if rank == 0:
            torch.save({"step": self.train_state.step, "model": model.module.state_dict()}, PATH)
        dist.barrier()

    def load(self):
        saved = torch.load(PATH, map_location=device)
        self.train_state.step = saved["step"]
        model.module.load_state_dict(saved["model"])
        return self.train_state


train_state = TrainState()
checkpointer = Checkpointer(train_state)
if os.path.exists(PATH):
    train_state = checkpointer.load()
while train_state.step + 1 < STEPS:
    train_state.step += 1
    data = torch.Generator().manual_seed(100 * train_state.step + rank)
    loss = (model(torch.randn(4, 8, generator=data).to(device)) - 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if train_state.step % SAVE_EVERY == SAVE_EVERY - 1:
        checkpointer.save()
dist.destroy_process_group()
