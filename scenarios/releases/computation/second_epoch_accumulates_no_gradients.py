# scenarios/releases/computation/second_epoch_accumulates_no_gradients.py — Rank 0 deals out the batches, and
# the weights are moved after every fourth of them.
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader

EVERY, BATCHES = 4, 4


def main():
    accelerator = Accelerator(cpu=True, dispatch_batches=True, gradient_accumulation_steps=EVERY)
    samples = torch.arange(BATCHES * 8, dtype=torch.float32).reshape(-1, 1)
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-5)
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(samples, batch_size=4))
    step = 0
    for epoch in range(2):
        moved = batches = 0
        for batch in loader:
            with accelerator.accumulate(model):
                loss = (model(batch) ** 2).mean()
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
            batches += 1
            moved += accelerator.sync_gradients
            print(f"step={step} loss={loss.item():.4f}")
            step += 1
        print(f"epoch {epoch} moved the weights {moved} times in {batches} batches")
        print(f"value name=updates.of.epoch step={step} is={moved} should={batches // EVERY}")


if __name__ == "__main__":
    main()
