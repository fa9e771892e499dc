# tests/others/frameworks/ddp.py — DistributedDataParallel as in torch's tutorial series: a Trainer class, a
# DistributedSampler, and snapshots that rank 0 saves.
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class RandomDataset(Dataset):
    def __init__(self, size):
        torch.manual_seed(0)
        self.data = [(torch.rand(20), torch.rand(1)) for _ in range(size)]

    def __len__(self):
        return len(self.data)

    def __getitem__(self, index):
        return self.data[index]


class Trainer:
    def __init__(self, model, loader, optimizer, device, snapshot):
        self.device, self.loader, self.optimizer, self.snapshot = device, loader, optimizer, snapshot
        self.model = DDP(model.to(device), device_ids=[device.index] if device.type == "cuda" else None)
        self.epochs_run = 0
        if os.path.exists(snapshot):
            state = torch.load(snapshot, map_location=device)
            self.model.module.load_state_dict(state["MODEL_STATE"])
            self.epochs_run = state["EPOCHS_RUN"]

    def run_batch(self, source, targets):
        self.optimizer.zero_grad()
        loss = F.mse_loss(self.model(source), targets)
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def save_snapshot(self, epoch):
        state = {"MODEL_STATE": self.model.module.state_dict(), "EPOCHS_RUN": epoch}
        torch.save(state, self.snapshot)
        print(f"Epoch {epoch} | Training snapshot saved at {self.snapshot}")

    def train(self, epochs):
        for epoch in range(self.epochs_run, epochs):
            self.loader.sampler.set_epoch(epoch)
            for source, targets in self.loader:
                loss = self.run_batch(source.to(self.device), targets.to(self.device))
            if dist.get_rank() == 0:
                self.save_snapshot(epoch)
        return loss


def main():
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if cuda else "gloo")
    dataset = RandomDataset(256)
    torch.manual_seed(1)
    model = torch.nn.Linear(20, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    loader = DataLoader(dataset, batch_size=16, shuffle=False, sampler=DistributedSampler(dataset))
    loss = Trainer(model, loader, optimizer, device, "snapshot.pt").train(3)
    dist.all_reduce(loss)
    if dist.get_rank() == 0:
        print(f"loss {loss.item() / dist.get_world_size():.6f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
