# scenarios/catalog/fault_tolerance/padded_rows_follow_the_tensor_parallel_size.py — The fixed program.
import torch
import torch.distributed as dist

WORDS, WIDTH, MULTIPLE, STEPS = 100, 8, 16, 4
SAVED_WITH = 1  # ranks of the tensor-parallel group that saved
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()


def padded(words, ranks):
    """Rows of the embedding, which divide by the ranks that they are cut for, whatever their number."""
    return -(-words // 128) * 128


def saved_by_another_job():
    """Leaves the model as a job without tensor parallelism wrote it."""
    torch.manual_seed(1)
    whole = torch.nn.Embedding(padded(WORDS, SAVED_WITH), WIDTH)
    torch.save({"word_embeddings.weight": whole.weight.detach()}, "model.pt")


class Model(torch.nn.Module):
    """Of which a rank later keeps its rows."""

    def __init__(self):
        super().__init__()
        self.word_embeddings = torch.nn.Embedding(padded(WORDS, size), WIDTH)

    def forward(self, tokens):
        return self.word_embeddings(tokens)


if rank == 0:
    saved_by_another_job()
dist.barrier()
model = Model()
model.load_state_dict(torch.load("model.pt"))
rows = len(model.word_embeddings.weight) // size
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(STEPS):
    tokens = torch.randint(WORDS, (4,), generator=torch.Generator().manual_seed(step))
    mine = (tokens >= rank * rows) & (tokens < (rank + 1) * rows)
    loss = (model(tokens) * mine[:, None]).square().sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    dist.all_reduce(loss.detach())
dist.destroy_process_group()
