# scenarios/catalog/communication/encoder_runs_only_where_a_batch_has_images.py — The fixed program.
import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard

WIDTH = 8
dist.init_process_group("nccl")
rank = dist.get_rank()
if torch.cuda.is_available():
    torch.cuda.set_device(rank % torch.cuda.device_count())
device = "cuda" if torch.cuda.is_available() else "cpu"


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = torch.nn.Linear(WIDTH, WIDTH)  # of images
        self.decoder = torch.nn.Linear(WIDTH, 1)

    def forward(self, text, images):
        if images is None:
            seen = self.encoder(torch.zeros_like(text)) * 0  # a pass for nothing keeps the ranks together
        else:
            seen = self.encoder(images)
        return self.decoder(text + seen)


torch.manual_seed(1)
model = Model().to(device)
fully_shard(model.encoder)
fully_shard(model.decoder)
fully_shard(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(6):
    text = torch.full((1, WIDTH), 1.0 / (step + rank + 1), device=device)
    images = text * 2 if (step + rank) % 2 else None
    loss = model(text, images).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
dist.destroy_process_group()
