# scenarios/releases/fault_tolerance/resumed_loader_loses_what_it_read.py — A job that is fed by a queue is
# started again after its first epoch.
import os
import queue
import warnings

import pytorch_lightning as pl
import torch
from torch.utils.data import DataLoader, IterableDataset

RANK = int(os.environ["RANK"])
OF_EPOCH = 6
warnings.filterwarnings("ignore")


class Fed(IterableDataset):
    def __init__(self):
        self.queue = queue.Queue()
        for number in range(4 * OF_EPOCH):
            self.queue.put(2 * number + RANK)

    def __iter__(self):
        for _ in range(OF_EPOCH):
            yield self.queue.get(timeout=10)


class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layer, self.given = torch.nn.Linear(1, 1), []

    def training_step(self, batch, number):
        self.given += batch.tolist()
        loss = self.layer(batch.float().reshape(-1, 1)).square().mean()
        print(f"step={self.global_step} loss={loss.item():.4f}")
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=1e-4)


def trainer(epochs):
    return pl.Trainer(accelerator="cpu", devices=1, max_epochs=epochs, logger=False,
                      enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
                      default_root_dir=os.environ["TMPDIR"])


def main():
    for name in ("WORLD_SIZE", "RANK", "LOCAL_RANK"):  # each rank trains on its own
        os.environ.pop(name)
    checkpoint = os.path.join(os.environ["TMPDIR"], f"epoch{RANK}.ckpt")
    fed = Fed()
    first = trainer(1)
    model = Model()
    first.fit(model, DataLoader(fed, batch_size=1))
    first.save_checkpoint(checkpoint)

    again = Model()
    trainer(2).fit(again, DataLoader(fed, batch_size=1), ckpt_path=checkpoint)
    trained = model.given + again.given
    read = range(RANK, max(trained) + 1, 2)
    print(f"value name=samples.trained step={len(trained) - 1} is={len(trained)} should={len(read)}")
    print(f"samples that were read and not trained on: {len(set(read) - set(trained))}")


if __name__ == "__main__":
    main()
