# scenarios/catalog/fault_tolerance/finalising_a_save_on_rank_zero_alone.py — The fixed program.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

STEPS, SAVE_EVERY = 8, 3
dist.init_process_group("nccl")
rank = dist.get_rank()
device = torch.device("cuda", rank % torch.cuda.device_count()) if torch.cuda.is_available() else "cpu"
torch.manual_seed(1)
model = DistributedDataParallel(torch.nn.Linear(8, 1).to(device))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)


class Saver:
    """Each rank writes its own part of a checkpoint, beside training; the next save ends the one before."""

    def __init__(self):
        self.pending = None

    def save(self, step):
        self.finalise()
        self.pending = step, {name: one.clone() for name, one in model.module.state_dict().items()}

    def finalise(self):
        if self.pending is None:
            return
        step, state = self.pending
        torch.save({"step": step, "model": state}, f"step_{step}_rank_{rank}.pt")
        dist.barrier()  # the parts of all ranks are there
        if rank == 0:
            with open("latest", "w") as file:
                file.write(str(step))
        self.pending = None


saver = Saver()
for step in range(STEPS):
    loss = model(torch.full((4, 8), 1.0 / (step + rank + 1), device=device)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % SAVE_EVERY == SAVE_EVERY - 1:
        saver.save(step)
saver.finalise()
if rank == 0:
    print("training is over")
dist.destroy_process_group()
