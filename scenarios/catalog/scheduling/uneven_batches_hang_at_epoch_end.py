# scenarios/catalog/scheduling/uneven_batches_hang_at_epoch_end.py — The fixed program.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

LONGEST, EPOCHS = 40, 2  # seconds of sound in a batch
dist.init_process_group("nccl")
rank, size = dist.get_rank(), dist.get_world_size()
device = torch.device("cuda", rank % torch.cuda.device_count()) if torch.cuda.is_available() else "cpu"
torch.manual_seed(1)
model = DistributedDataParallel(torch.nn.Linear(4, 1).to(device))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
lengths = torch.randint(5, 20, (96,), generator=torch.Generator().manual_seed(3)).tolist()


def batches(epoch):
    """A batch holds as many samples as fit into its length: how many batches a rank has follows from its samples."""
    order = torch.randperm(len(lengths), generator=torch.Generator().manual_seed(epoch)).tolist()
    made, batch = [], []
    for sample in order[rank::size]:
        if sum(lengths[one] for one in batch) + lengths[sample] > LONGEST:
            made.append(batch)
            batch = []
        batch.append(sample)
    made.append(batch)
    fewest = torch.tensor(len(made), device=device)
    dist.all_reduce(fewest, op=dist.ReduceOp.MIN)
    return made[: int(fewest)]  # the last ones are dropped where a rank has more than the others


for epoch in range(EPOCHS):
    for batch in batches(epoch):
        x = torch.tensor([[lengths[one] / 20.0] * 4 for one in batch], device=device)
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
dist.destroy_process_group()
