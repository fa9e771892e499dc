# scenarios/releases/fault_tolerance/checkpoint_is_deleted_by_the_job_it_started.py — A second run begins with
# the checkpoint of a first one, and keeps its own in a directory of its own.
import os
import warnings

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import ModelCheckpoint
from torch.utils.data import DataLoader

HERE, WORLD = os.environ["TMPDIR"], int(os.environ["WORLD_SIZE"])
warnings.filterwarnings("ignore")


class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layer = torch.nn.Linear(2, 1)

    def training_step(self, batch, number):
        loss = self.layer(batch).square().mean()
        print(f"step={self.global_step} loss={loss.item():.4f}", flush=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


def fit(run, steps, checkpoint=None):
    saves = ModelCheckpoint(dirpath=os.path.join(HERE, run), every_n_train_steps=2)
    trainer = pl.Trainer(accelerator="cpu", devices=WORLD, strategy="ddp",
                         max_steps=steps, callbacks=[saves], logger=False, enable_progress_bar=False,
                         enable_model_summary=False, default_root_dir=HERE)
    samples = torch.randn(64, 2, generator=torch.Generator().manual_seed(3))
    trainer.fit(Model(), DataLoader(samples, batch_size=2), ckpt_path=checkpoint)
    trainer.strategy.barrier()
    return saves.best_model_path


def main():
    first = fit("first", 4)
    fit("second", 8, first)
    print(f"checkpoints of the first run: {len(os.listdir(os.path.join(HERE, 'first')))}")
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
