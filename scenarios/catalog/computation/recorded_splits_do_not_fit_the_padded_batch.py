# scenarios/catalog/computation/recorded_splits_do_not_fit_the_padded_batch.py — The fixed program.
import torch
import torch.distributed as dist

MULTIPLE, WIDTH, STEPS = 4, 2, 6
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(1)
expert = torch.nn.Linear(WIDTH, WIDTH)
optimizer = torch.optim.SGD(expert.parameters(), lr=0.1)


class Router:
    """How many tokens go to each rank's expert, as the inference engine has recorded it."""

    def __init__(self):
        self.recorded = []

    def record(self, tokens):
        self.recorded.append([tokens // size + (peer < tokens % size) for peer in range(size)])

    def replay(self, rows):
        counts = self.recorded.pop(0)
        counts[-1] += rows - sum(counts)  # rows that pad the batch go to the last expert
        return counts


router = Router()
for step in range(STEPS):
    tokens = 8 + (rank + step) % MULTIPLE
    router.record(tokens)
    rows = -(-tokens // MULTIPLE) * MULTIPLE
    sends = router.replay(rows)
    everybodys = [torch.zeros(size, dtype=torch.long) for _ in range(size)]
    dist.all_gather(everybodys, torch.tensor(sends))
    takes = [one[rank].item() for one in everybodys]
    received = torch.empty(sum(takes), WIDTH)
    dist.all_to_all_single(received, torch.ones(rows, WIDTH), takes, sends)
    loss = expert(received).square().mean()
    optimizer.zero_grad()
    loss.backward()
    for parameter in expert.parameters():
        dist.all_reduce(parameter.grad)
    optimizer.step()
dist.destroy_process_group()
