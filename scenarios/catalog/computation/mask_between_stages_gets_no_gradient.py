# scenarios/catalog/computation/mask_between_stages_gets_no_gradient.py — The fixed program.
import torch
import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

WIDTH, LENGTH, BATCH, MICRO_BATCHES, STEPS = 8, 4, 4, 2, 3
dist.init_process_group("gloo")
rank, stages = dist.get_rank(), dist.get_world_size()
device = torch.device("cpu")


def mask_of(tokens):
    """Which positions hold a word: not trained, and no function of what is."""
    return (tokens != 0).to(torch.float32).unsqueeze(-1)


class Part(torch.nn.Module):
    """The layers of a stage. The first one has the embedding."""

    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(16, WIDTH) if rank == 0 else None
        self.layer = torch.nn.Linear(WIDTH, WIDTH)

    def forward(self, hidden):
        if self.embedding is not None:
            mask = mask_of(hidden)
            hidden = self.embedding(hidden).masked_fill(mask == 0, 0.0)
        return self.layer(hidden)


torch.manual_seed(1 + rank)
part = Part()
optimizer = torch.optim.SGD(part.parameters(), lr=0.05)
stage = PipelineStage(part, rank, stages, device)
schedule = ScheduleGPipe(stage, MICRO_BATCHES, loss_fn=torch.nn.functional.mse_loss)
for step in range(STEPS):
    optimizer.zero_grad()
    if rank == 0:
        schedule.step(torch.randint(16, (BATCH, LENGTH)))
    elif rank == stages - 1:
        schedule.step(target=torch.zeros(BATCH, LENGTH, WIDTH))
    else:
        schedule.step()
    optimizer.step()
dist.destroy_process_group()
