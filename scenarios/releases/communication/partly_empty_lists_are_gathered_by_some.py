# scenarios/releases/communication/partly_empty_lists_are_gathered_by_some.py — A metric keeps what it has
# seen in a list; one rank has seen nothing when the ranks put theirs together.
import os
from datetime import timedelta

import torch
import torch.distributed as dist
from torchmetrics import Metric

RANK = int(os.environ["RANK"])


class Scores(Metric):
    full_state_update = False

    def __init__(self):
        super().__init__()
        self.add_state("scores", default=[], dist_reduce_fx="cat")

    def update(self, scores):
        self.scores.append(scores)

    def compute(self):
        scores = self.scores if torch.is_tensor(self.scores) else torch.zeros(0)
        return scores.numel()


def main():
    dist.init_process_group("gloo", timeout=timedelta(minutes=10))
    metric = Scores()
    if RANK == 0:
        metric.update(torch.ones(4))
    print("step=0 loss=1.0000", flush=True)
    print(f"{metric.compute()} scores in all", flush=True)
    total = torch.ones(1)
    dist.all_reduce(total)
    print("step=1 loss=0.5000", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
