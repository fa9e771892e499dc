# tests/others/frameworks/accelerate_loop.py — Hugging Face's Accelerate as in its quick tour: prepare, accumulate, clip,
# gather_for_metrics, save_state.
import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    accelerator = Accelerator(cpu=not torch.cuda.is_available(), gradient_accumulation_steps=2)
    set_seed(42)
    inputs = torch.randn(320, 16)
    labels = (inputs[:, :4].sum(1) > 0).long()
    train = DataLoader(TensorDataset(inputs, labels), batch_size=8, shuffle=True)
    test = DataLoader(TensorDataset(inputs[:90], labels[:90]), batch_size=16)
    model = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, 20)
    model, optimizer, train, test, scheduler = accelerator.prepare(model, optimizer, train, test, scheduler)
    for epoch in range(2):
        model.train()
        for batch, label in train:
            with accelerator.accumulate(model):
                loss = nn.functional.cross_entropy(model(batch), label)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
        model.eval()
        right = []
        for batch, label in test:
            with torch.no_grad():
                guess = model(batch).argmax(1)
            right.append(accelerator.gather_for_metrics((guess == label).float()))
        accelerator.print(f"epoch {epoch} accuracy {torch.cat(right).mean().item():.3f}")
        accelerator.save_state(f"state-{epoch}")
    mean = accelerator.reduce(loss.detach(), "mean")
    accelerator.print(f"loss {mean.item():.6f}")
    accelerator.end_training()


if __name__ == "__main__":
    main()
