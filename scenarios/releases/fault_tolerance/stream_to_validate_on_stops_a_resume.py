# scenarios/releases/fault_tolerance/stream_to_validate_on_stops_a_resume.py — A job whose validation has no
# length, started again from its last checkpoint.
import os
import warnings

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import ModelCheckpoint
from torch.utils.data import DataLoader, IterableDataset

HERE, WORLD = os.environ["TMPDIR"], int(os.environ["WORLD_SIZE"])
warnings.filterwarnings("ignore")


class Stream(IterableDataset):
    def __iter__(self):
        return iter(torch.randn(4, 2, generator=torch.Generator().manual_seed(3)))


class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layer = torch.nn.Linear(2, 1)

    def training_step(self, batch, number):
        loss = self.layer(batch).square().mean()
        print(f"step={self.global_step} loss={loss.item():.4f}", flush=True)
        return loss

    def validation_step(self, batch, number):
        pass

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


def fit(epochs, checkpoint=None):
    saves = ModelCheckpoint(dirpath=HERE, save_last=True, every_n_train_steps=1)
    trainer = pl.Trainer(accelerator="cpu", devices=WORLD, strategy="ddp",
                         max_epochs=epochs, callbacks=[saves], logger=False, limit_train_batches=2,
                         check_val_every_n_epoch=1, enable_progress_bar=False, enable_model_summary=False,
                         default_root_dir=HERE)
    trainer.fit(Model(), DataLoader(Stream()), DataLoader(Stream()), ckpt_path=checkpoint)
    trainer.strategy.barrier()


def main():
    fit(2)
    print("saved", flush=True)
    fit(3, os.path.join(HERE, "last.ckpt"))
    print("trained", flush=True)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
