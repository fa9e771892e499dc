# scenarios/releases/fault_tolerance/checkpoint_written_beside_holds_two_steps.py — Checkpoints are written by
# a thread beside the training; here the disk takes its time.
import os
import time
import warnings

import pytorch_lightning as pl
import torch
from pytorch_lightning.plugins import AsyncCheckpointIO, TorchCheckpointIO
from torch.utils.data import DataLoader

RANK = int(os.environ["RANK"])
HERE = os.path.join(os.environ["TMPDIR"], f"rank{RANK}")
warnings.filterwarnings("ignore")


class SlowDisk(TorchCheckpointIO):
    def save_checkpoint(self, checkpoint, path, storage_options=None):
        time.sleep(2)
        super().save_checkpoint(checkpoint, path, storage_options)


class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layer, self.weights = torch.nn.Linear(2, 1), {}

    def training_step(self, batch, number):
        self.weights[self.global_step] = self.layer.weight.detach().clone()
        if self.global_step == 2:
            self.trainer.save_checkpoint(os.path.join(HERE, "step2.ckpt"))
        loss = self.layer(batch).square().mean()
        print(f"step={self.global_step} loss={loss.item():.4f}", flush=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


def main():
    for name in ("WORLD_SIZE", "RANK", "LOCAL_RANK"):  # each rank trains on its own
        os.environ.pop(name)
    trainer = pl.Trainer(accelerator="cpu", devices=1, max_steps=6, logger=False, enable_checkpointing=False,
                         enable_progress_bar=False, enable_model_summary=False, default_root_dir=HERE,
                         plugins=[AsyncCheckpointIO(SlowDisk())])
    model = Model()
    trainer.fit(model, DataLoader(torch.ones(16, 2), batch_size=2))
    saved = torch.load(os.path.join(HERE, "step2.ckpt"), weights_only=False)
    off = (saved["state_dict"]["layer.weight"] - model.weights[2]).abs().max().item()
    print(f"the checkpoint of step {saved['global_step']} is {off:.3f} away from the weights of that step")


if __name__ == "__main__":
    main()
