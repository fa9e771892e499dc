# tests/programs/python/users/lightning_module.py — Lightning's Trainer with its DDP strategy: callbacks,
# validation, a checkpoint of the best epoch.
import os
import tempfile

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
    L.seed_everything(3, workers=True)
    inputs = torch.randn(303, 14)
    data = TensorDataset(inputs, (inputs[:, 0] > 0).long())
    with tempfile.TemporaryDirectory() as folder:
        trainer = L.Trainer(
            accelerator="cpu",
            devices=int(os.environ["LOCAL_WORLD_SIZE"]),
            strategy="ddp",
            max_epochs=2,
            default_root_dir=folder,
            callbacks=[ModelCheckpoint(monitor="held")],
            enable_progress_bar=False,
            logger=False,
        )
        trainer.fit(Net(), DataLoader(data, batch_size=8, shuffle=True), DataLoader(data, batch_size=16))


if __name__ == "__main__":
    main()
