# scenarios/releases/scheduling/without_a_seed_the_ranks_share_samples.py — A training that sets no seed, over
# samples that are dealt among the ranks in random order.
import os
import warnings

import pytorch_lightning as pl
import torch
from torch.utils.data import DataLoader

RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
SAMPLES = 32
warnings.filterwarnings("ignore")


class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)
        self.seen = []

    def training_step(self, batch, number):
        self.seen += batch.tolist()
        print(f"batch epoch=0 step={number} samples={','.join(map(str, batch.tolist()))}")
        loss = (self.layer(batch[:, None].float()) ** 2).mean()
        print(f"step={number} loss={1 / (number + 1):.4f}")
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=1e-6)


def main():
    torch.manual_seed(RANK)
    model = Model()
    trainer = pl.Trainer(
        accelerator="cpu",
        devices=WORLD,
        strategy="ddp",
        max_epochs=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(model, DataLoader(list(range(SAMPLES)), batch_size=4, shuffle=True))
    everything = [None] * WORLD
    torch.distributed.all_gather_object(everything, model.seen)
    seen = len({sample for of_rank in everything for sample in of_rank})
    print("the ranks saw every sample" if seen == SAMPLES else "some samples were seen by two ranks")


if __name__ == "__main__":
    main()
