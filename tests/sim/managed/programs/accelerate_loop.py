# tests/sim/managed/programs/accelerate_loop.py — Hugging Face's Accelerate, as its documentation shows it.
import torch
from accelerate import Accelerator

accelerator = Accelerator(cpu=True)
torch.manual_seed(0)
model = torch.nn.Linear(8, 2)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
data = torch.utils.data.TensorDataset(torch.randn(64, 8), torch.randint(0, 2, (64,)))
model, optimizer, loader = accelerator.prepare(
    model, optimizer, torch.utils.data.DataLoader(data, batch_size=4)
)
for x, y in loader:
    with accelerator.accumulate(model):
        loss = torch.nn.functional.cross_entropy(model(x), y)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
losses = accelerator.gather(loss.detach().view(1))
accelerator.print(f"ok accelerate_loop loss {losses.mean().item():.6f} {accelerator.distributed_type}")
accelerator.end_training()
