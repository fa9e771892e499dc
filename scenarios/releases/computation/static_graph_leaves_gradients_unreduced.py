# scenarios/releases/computation/static_graph_leaves_gradients_unreduced.py — Manual optimization under
# DistributedDataParallel with a static graph.
import os
import warnings

import pytorch_lightning as pl
import torch
from pytorch_lightning.strategies import DDPStrategy
from torch.utils.data import DataLoader, TensorDataset

RANK = int(os.environ["RANK"])
warnings.filterwarnings("ignore")


class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        torch.manual_seed(0)
        self.layer = torch.nn.Linear(4, 1)

    def training_step(self, batch, number):
        optimizer = self.optimizers()
        optimizer.zero_grad()
        loss = (self.layer(batch[0]) ** 2).mean()
        self.manual_backward(loss)
        optimizer.step()
        print(f"step={number} loss={loss.item():.4f}")

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


def main():
    samples = torch.randn(16, 4, generator=torch.Generator().manual_seed(5))
    model = Model()
    trainer = pl.Trainer(
        accelerator="cpu",
        devices=int(os.environ["WORLD_SIZE"]),
        strategy=DDPStrategy(static_graph=True, process_group_backend="gloo"),
        max_epochs=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(model, DataLoader(TensorDataset(samples), batch_size=2))
    mine = model.layer.weight.detach().flatten()
    largest, smallest = mine.clone(), mine.clone()
    torch.distributed.all_reduce(largest, torch.distributed.ReduceOp.MAX)
    torch.distributed.all_reduce(smallest, torch.distributed.ReduceOp.MIN)
    print(f"after training the weights of the ranks differ by {(largest - smallest).max().item():.3f}")
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
