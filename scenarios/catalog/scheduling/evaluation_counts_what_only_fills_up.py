# scenarios/catalog/scheduling/evaluation_counts_what_only_fills_up.py — The fixed program.
import torch
import torch.distributed as dist
from deadrank import check
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

SAMPLES, BATCH, STEPS = 29, 4, 6
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(1)
model = DistributedDataParallel(torch.nn.Linear(4, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
data = TensorDataset(torch.randn(SAMPLES, 4, generator=torch.Generator().manual_seed(2)), torch.arange(SAMPLES) % 2)
loader = DataLoader(data, batch_size=BATCH, sampler=DistributedSampler(data, shuffle=False))


@torch.no_grad()
def evaluate():
    """Accuracy over the evaluation set. The sampler fills the last round up with samples from the beginning."""
    right, count = 0, 0
    for x, labels in loader:
        answers = model.module(x).argmax(dim=1) == labels
        gathered = [torch.empty_like(answers) for _ in range(size)]
        dist.all_gather(gathered, answers)
        batch = torch.stack(gathered, dim=1).flatten()
        batch = batch[: len(data) - count]  # the last one holds what the set still has to give
        right, count = right + int(batch.sum()), count + len(batch)
    check("evaluation.samples", count, len(data))
    return right / count


for step in range(STEPS):
    loss = model(torch.full((4, 4), 1.0 / (step + rank + 1))).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 3 == 2:
        accuracy = evaluate()
        if rank == 0:
            print(f"accuracy: {accuracy:.3f}")
dist.destroy_process_group()
