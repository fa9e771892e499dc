# scenarios/catalog/computation/label_smoothing_over_a_part_of_the_vocabulary.py — The fixed program.
import torch
import torch.distributed as dist
import torch.nn.functional as F
from deadrank import check

VOCABULARY, POSITIONS, SMOOTHING, STEPS = 16, 6, 0.1, 6
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
part = VOCABULARY // size
begin = rank * part
torch.manual_seed(1)
embedding = torch.nn.Embedding(VOCABULARY, 8)  # a replica on each rank
torch.manual_seed(2 + rank)
head = torch.nn.Linear(8, part)  # the rank's part of the vocabulary
optimizer = torch.optim.SGD([*embedding.parameters(), *head.parameters()], lr=0.1)


class SmoothedLoss(torch.autograd.Function):
    """Cross-entropy over logits whose last dimension is divided among the ranks."""

    @staticmethod
    def forward(context, logits, targets):
        largest = logits.max(dim=-1).values
        dist.all_reduce(largest, op=dist.ReduceOp.MAX)
        whole = (logits - largest[:, None]).exp().sum(dim=-1)
        dist.all_reduce(whole)
        log_probs = logits - (largest + whole.log())[:, None]
        mine = (targets >= begin) & (targets < begin + part)
        places = torch.where(mine, targets - begin, 0)
        chosen = torch.where(mine, log_probs.gather(1, places[:, None])[:, 0], 0.0)
        dist.all_reduce(chosen)
        total = log_probs.sum(dim=-1)
        dist.all_reduce(total)
        mean = total / VOCABULARY
        context.save_for_backward(log_probs, mine, places)
        return -((1 - SMOOTHING) * chosen + SMOOTHING * mean).mean()

    @staticmethod
    def backward(context, gradient):
        log_probs, mine, places = context.saved_tensors
        logits = log_probs.exp() - SMOOTHING / VOCABULARY
        logits[torch.arange(len(places)), places] -= (1 - SMOOTHING) * mine
        return gradient * logits / len(places), None


for step in range(STEPS):
    tokens = torch.tensor([(step * 7 + p) % VOCABULARY for p in range(POSITIONS)])
    targets = torch.tensor([(step * 5 + p * 3) % VOCABULARY for p in range(POSITIONS)])
    logits = head(embedding(tokens))
    loss = SmoothedLoss.apply(logits, targets)
    optimizer.zero_grad()
    loss.backward()
    dist.all_reduce(embedding.weight.grad)  # each rank has the part that came through its head
    optimizer.step()
    parts = [torch.empty(POSITIONS, part) for _ in range(size)]
    dist.all_gather(parts, logits.detach())
    check("loss", loss, F.cross_entropy(torch.cat(parts, dim=1), targets, label_smoothing=SMOOTHING))
dist.destroy_process_group()
