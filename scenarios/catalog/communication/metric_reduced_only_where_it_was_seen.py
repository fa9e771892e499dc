# scenarios/catalog/communication/metric_reduced_only_where_it_was_seen.py — The fixed program.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("nccl")
rank = dist.get_rank()
device = torch.device("cuda", rank % torch.cuda.device_count()) if torch.cuda.is_available() else "cpu"
torch.manual_seed(1)
model = DistributedDataParallel(torch.nn.Linear(8, 1).to(device))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)


def batch(step):
    """Kinds of the prompts. In one step one rank draws chat alone."""
    return ["chat"] * 4 if (rank, step) == (2, 4) else ["math", "chat", "math", "chat"]


def rewards(kinds):
    """The reward of each answer, and what it found worth logging."""
    math = [float(i) for i, kind in enumerate(kinds) if kind == "math"]
    metrics = {"accuracy": sum(math) / len(math)} if math else {}
    return [1.0 / (i + 1) for i in range(len(kinds))], metrics


def averaged(metrics):
    everywhere = [None] * dist.get_world_size()
    dist.all_gather_object(everywhere, sorted(metrics))
    for name in sorted({name for names in everywhere for name in names}):
        pair = torch.tensor([metrics.get(name, 0.0), float(name in metrics)], device=device)
        dist.all_reduce(pair)
        metrics[name] = (pair[0] / pair[1]).item()


for step in range(8):
    reward, metrics = rewards(batch(step))
    data = torch.full((4, 8), 1.0 / (step + rank + 1), device=device)
    loss = -(model(data)[:, 0].sigmoid() * torch.tensor(reward, device=device)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    averaged(metrics)
dist.destroy_process_group()
