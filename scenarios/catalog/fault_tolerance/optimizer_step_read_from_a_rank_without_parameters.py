# scenarios/catalog/fault_tolerance/optimizer_step_read_from_a_rank_without_parameters.py — The fixed program.
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

WIDTH, STEPS, SAVE_EVERY = 8, 12, 3
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(1)
model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.LayerNorm(WIDTH)))
names = [name for name, _ in model.named_parameters()]
owned = dict(zip(names, (0, 0, 1, 1), strict=True))  # which rank's optimizer holds a parameter


class FusedAdam(torch.optim.Optimizer):
    """Counts its steps for each group of parameters, as one kernel updates all of a group."""

    def __init__(self, groups):
        super().__init__(groups, {"lr": 0.05, "betas": (0.9, 0.95)})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            group["step"] = group.get("step", 0) + 1
            if not group["params"]:
                continue
            first, second = group["betas"]
            for one in group["params"]:
                state = self.state[one]
                if not state:
                    state["exp_avg"], state["exp_avg_sq"] = torch.zeros_like(one), torch.zeros_like(one)
                state["exp_avg"].lerp_(one.grad, 1 - first)
                state["exp_avg_sq"].lerp_(one.grad.square(), 1 - second)
                mean = state["exp_avg"] / (1 - first ** group["step"])
                one -= group["lr"] * mean / ((state["exp_avg_sq"] / (1 - second ** group["step"])).sqrt() + 1e-8)


decayed = [one for name, one in model.named_parameters() if owned[name] == rank and "0." in name]
not_decayed = [one for name, one in model.named_parameters() if owned[name] == rank and "1." in name]
optimizer = FusedAdam([{"params": decayed}, {"params": not_decayed}])


def save(step):
    """Moments are each rank's own; the numbers of the groups are common, and rank 0 writes them."""
    moments = [dict(optimizer.state[one]) for one in decayed + not_decayed]
    torch.save({"step": step, "moments": moments}, f"rank_{rank}.pt")
    if rank == 0:
        counted = [group.get("step", 1) for group in optimizer.param_groups]
        torch.save({"step": step, "model": model.state_dict(), "counted": counted}, "common.pt")
    dist.barrier()


def load():
    common, own = torch.load("common.pt"), torch.load(f"rank_{rank}.pt")
    model.load_state_dict(common["model"])
    for one, moments in zip(decayed + not_decayed, own["moments"], strict=True):
        optimizer.state[one] = moments
    for group, counted in zip(optimizer.param_groups, common["counted"], strict=True):
        group["step"] = counted
    return common["step"] + 1


begin = load() if os.path.exists("common.pt") else 0
for step in range(begin, STEPS):
    data = torch.randn(4, WIDTH, generator=torch.Generator().manual_seed(100 * step + rank))
    loss = (model(data) - 1).square().mean()
    model.zero_grad()
    loss.backward()
    optimizer.step()
    for name, one in model.named_parameters():
        dist.broadcast(one.data, owned[name])
    if step % SAVE_EVERY == SAVE_EVERY - 1:
        save(step)
dist.destroy_process_group()
