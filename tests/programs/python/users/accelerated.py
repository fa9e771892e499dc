# tests/programs/python/users/accelerated.py — Hugging Face accelerate: the library shards the loader,
# accumulates gradients and gathers the metrics.
import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    set_seed(42)
    inputs = torch.randn(330, 16)
    labels = (inputs[:, :4].sum(1) > 0).long()
    train = DataLoader(TensorDataset(inputs, labels), batch_size=8, shuffle=True)
    test = DataLoader(TensorDataset(inputs[:90], labels[:90]), batch_size=16)
    model = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    model, optimizer, train, test = accelerator.prepare(model, optimizer, train, test)
    for epoch in range(3):
        model.train()
        for batch, label in train:
            with accelerator.accumulate(model):
                loss = nn.functional.cross_entropy(model(batch), label)
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
        model.eval()
        right = []
        for batch, label in test:
            with torch.no_grad():
                guess = model(batch).argmax(1)
            right.append(accelerator.gather_for_metrics((guess == label).float()))
        accelerator.print(f"epoch {epoch} accuracy {torch.cat(right).mean().item():.3f}")
    accelerator.end_training()


if __name__ == "__main__":
    main()
