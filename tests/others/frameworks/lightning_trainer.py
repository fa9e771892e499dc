# tests/others/frameworks/lightning_trainer.py — Lightning's Trainer as in its introduction: validation, a checkpoint of
# the best epoch, --strategy ddp, fsdp or deepspeed_stage_2.
import argparse
import os

import lightning as L
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(14, 28), nn.ReLU(), nn.Linear(28, 2))
        self.criterion = nn.CrossEntropyLoss()

    def training_step(self, batch, index):
        loss = self.criterion(self.net(batch[0]), batch[1])
        self.log("train", loss, sync_dist=True)
        return loss

    def validation_step(self, batch, index):
        self.log("held", self.criterion(self.net(batch[0]), batch[1]), sync_dist=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-2)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--strategy", default="ddp")
    arguments = parser.parse_args()
    L.seed_everything(3, workers=True)
    inputs = torch.randn(320, 14)
    data = TensorDataset(inputs, (inputs[:, 0] > 0).long())
    trainer = L.Trainer(
        accelerator="gpu" if torch.cuda.is_available() else "cpu",
        devices=int(os.environ["LOCAL_WORLD_SIZE"]),
        num_nodes=int(os.environ["WORLD_SIZE"]) // int(os.environ["LOCAL_WORLD_SIZE"]),
        strategy=arguments.strategy,
        max_epochs=2,
        callbacks=[ModelCheckpoint(dirpath="checkpoints", monitor="held")],
        enable_progress_bar=False,
        logger=False,
    )
    trainer.fit(Net(), DataLoader(data, batch_size=8, shuffle=True), DataLoader(data, batch_size=16))
    if trainer.is_global_zero:
        print(f"loss {trainer.callback_metrics['held'].item():.6f}")


if __name__ == "__main__":
    main()
