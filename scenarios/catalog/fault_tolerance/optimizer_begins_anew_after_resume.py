# scenarios/catalog/fault_tolerance/optimizer_begins_anew_after_resume.py — The fixed program.
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

PATH, STEPS, SAVE_EVERY = "checkpoint.pt", 12, 3
dist.init_process_group("nccl")
rank = dist.get_rank()
device = torch.device("cuda", rank % torch.cuda.device_count()) if torch.cuda.is_available() else "cpu"
torch.manual_seed(1)
model = DistributedDataParallel(torch.nn.Linear(8, 1).to(device))
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
begin = 0
if os.path.exists(PATH):
    saved = torch.load(PATH, map_location=device)
    begin = saved["step"] + 1
    model.module.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
for step in range(begin, STEPS):
    data = torch.randn(4, 8, generator=torch.Generator().manual_seed(100 * step + rank)).to(device)
    loss = (model(data) - 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % SAVE_EVERY == SAVE_EVERY - 1:
        if rank == 0:
            state = {"step": step, "model": model.module.state_dict(), "optimizer": optimizer.state_dict()}
            torch.save(state, PATH)
        dist.barrier()
dist.destroy_process_group()
