# tests/programs/python/users/zero_optimizer.py — torch's ZeroRedundancyOptimizer over
# DistributedDataParallel, a frozen backbone and unused parameters; a checkpoint by
# torch.distributed.checkpoint in the middle.
import tempfile

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Linear(12, 24).requires_grad_(False)
        self.head, self.spare = nn.Linear(24, 3), nn.Linear(24, 3)

    def forward(self, inputs, spare=False):
        hidden = torch.relu(self.backbone(inputs))
        return self.spare(hidden) if spare else self.head(hidden)


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = DistributedDataParallel(Net(), find_unused_parameters=True)
    optimizer = ZeroRedundancyOptimizer(
        [p for p in model.parameters() if p.requires_grad], optimizer_class=torch.optim.Adam, lr=1e-2
    )
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    inputs = torch.randn(205, 12)
    dataset = TensorDataset(inputs, inputs[:, :3].argmax(1))
    sampler = DistributedSampler(dataset, shuffle=False)
    loader = DataLoader(dataset, batch_size=10, sampler=sampler)
    folder = [tempfile.mkdtemp()]
    dist.broadcast_object_list(folder, src=0)
    for epoch in range(3):
        for index, (batch, labels) in enumerate(loader):
            loss = criterion(model(batch, spare=index % 3 == 2), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        dcp.save({"model": model.module.state_dict()}, checkpoint_id=f"{folder[0]}/step{epoch}")
    state = {"model": model.module.state_dict()}
    dcp.load(state, checkpoint_id=f"{folder[0]}/step2")
    if dist.get_rank() == 0:
        print(f"loss {loss.item():.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
