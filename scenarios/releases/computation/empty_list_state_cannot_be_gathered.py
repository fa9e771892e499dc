# scenarios/releases/computation/empty_list_state_cannot_be_gathered.py — A metric that keeps what it has
# seen in a list, in a validation during which there was nothing to see.
from datetime import timedelta

import torch
import torch.distributed as dist
from torchmetrics import Metric


class Detections(Metric):
    full_state_update = False

    def __init__(self):
        super().__init__()
        self.add_state("boxes", default=[], dist_reduce_fx="cat")

    def update(self, boxes):
        if len(boxes):
            self.boxes.append(boxes)

    def compute(self):
        return len(self.boxes)


def main():
    dist.init_process_group("gloo", timeout=timedelta(seconds=20))
    metric = Detections()
    metric.update(torch.ones(0))
    print("step=0 loss=1.0000")
    print(f"{metric.compute()} boxes in all")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
