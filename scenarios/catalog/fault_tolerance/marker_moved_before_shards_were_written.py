# scenarios/catalog/fault_tolerance/marker_moved_before_shards_were_written.py — The fixed program.
import os
import time

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.nn.parallel import DistributedDataParallel

STEPS, SAVE_EVERY, LATEST = 12, 3, "latest"
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(1)
model = DistributedDataParallel(torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)


class SharedDisk(dcp.FileSystemWriter):
    """A file system of a whole cluster: a flush takes longer than some steps."""

    def write_data(self, plan, planner):
        time.sleep(6)
        return super().write_data(plan, planner)


class Checkpoints:
    def __init__(self):
        self.group = dist.new_group(backend="gloo")  # of the saves that go on beside training
        self.flush, self.step = None, None

    def save(self, step):
        self.drain()
        self.flush = dcp.async_save(
            model.state_dict(), storage_writer=SharedDisk(f"step_{step}"), process_group=self.group
        )
        self.step = step

    def drain(self):
        """The flush under way is on disk: now it may be resumed from."""
        if self.flush is not None:
            self.flush.result()
            self.commit(self.step)
        self.flush = None

    def commit(self, step):
        if rank == 0:
            with open(LATEST, "w") as file:
                file.write(str(step))


checkpoints, begin = Checkpoints(), 0
if os.path.exists(LATEST):
    with open(LATEST) as file:
        begin = int(file.read()) + 1
    dcp.load(model.state_dict(), checkpoint_id=f"step_{begin - 1}")
for step in range(begin, STEPS):
    time.sleep(2.5)  # a batch of a large model
    loss = model(torch.full((4, 8), 1.0 / (step + rank + 1))).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % SAVE_EVERY == SAVE_EVERY - 1:
        checkpoints.save(step)
checkpoints.drain()
dist.destroy_process_group()
