# runners/promises/programs/lightning_fit.py — Lightning's Trainer on two processes under torchrun: a
# checkpoint at the end of each two-step epoch, and ckpt_path="last" after a restart.
import logging
import os
import warnings

import lightning as L
import torch
from lightning.pytorch.callbacks import ModelCheckpoint

from counted_task import RUN, SAVE_EVERY, STEPS, Recorder
from torch_task import Task

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
UNIT, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


class Steps(torch.utils.data.IterableDataset):
    """The steps of one epoch, already divided among the workers."""

    def __init__(self, task, epoch):
        self.task, self.epoch = task, epoch

    def __iter__(self):
        for step in range(self.epoch * SAVE_EVERY, (self.epoch + 1) * SAVE_EVERY):
            samples, x, y = self.task.batch(step, UNIT, WORLD)
            yield torch.tensor(samples), x, y

    def __len__(self):
        return SAVE_EVERY


class Module(L.LightningModule):
    def __init__(self, recorder):
        super().__init__()
        self.recorder, self.task = recorder, Task()
        self.model = self.task.model
        self.seen = None

    def train_dataloader(self):
        return torch.utils.data.DataLoader(Steps(self.task, self.trainer.current_epoch), batch_size=None)

    def configure_optimizers(self):
        return [self.task.optimizer], [{"scheduler": self.task.schedule, "interval": "step"}]

    def training_step(self, batch, index):
        step = self.global_step
        self.recorder.phase("forward", step, self.task)
        torch.manual_seed(1000 * step + UNIT)  # its checkpoints do not promise to hold the generator's state
        samples, x, y = batch
        loss = self.task.loss(self.model(x), y)
        self.seen = (step, float(loss), samples.tolist())
        return loss

    def on_before_backward(self, loss):
        self.recorder.phase("collective", self.global_step, self.task)

    def on_before_optimizer_step(self, optimizer):
        self.recorder.phase("optimizer", self.global_step, self.task)

    def on_train_batch_end(self, *rest):
        self.recorder.committed(*self.seen)

    def on_save_checkpoint(self, checkpoint):
        self.recorder.phase("save", self.seen[0], self.task)


def main():
    recorder = Recorder(UNIT)
    recorder.begin()
    recorder.phase("restore", 0)
    module = Module(recorder)
    keep = ModelCheckpoint(dirpath=RUN / "checkpoints", save_last=True, every_n_epochs=1, save_top_k=1,
                           save_on_train_epoch_end=True)
    trainer = L.Trainer(accelerator="cpu", devices=WORLD, strategy="ddp", max_epochs=STEPS // SAVE_EVERY,
                        reload_dataloaders_every_n_epochs=1, callbacks=[keep], logger=False,
                        enable_progress_bar=False, enable_model_summary=False, use_distributed_sampler=False)
    trainer.fit(module, ckpt_path="last")
    recorder.final(STEPS - 1, **module.task.digests())


if __name__ == "__main__":
    main()
