# tests/programs/python/users/mixed_precision.py — bf16 autocast with a gradient scaler, an exponential
# average of the weights kept on rank 0 only, SyncBatchNorm left out on CPU, and per-epoch metrics by
# all_gather_object.
import copy

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv1d(1, 8, 5), nn.BatchNorm1d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 28, 5))
    model = DistributedDataParallel(net, broadcast_buffers=True)
    average = copy.deepcopy(net) if rank == 0 else None
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cpu")
    signals = torch.randn(250, 1, 32)
    dataset = TensorDataset(signals, torch.randint(0, 5, (250,)))
    sampler = DistributedSampler(dataset, drop_last=True)
    loader = DataLoader(dataset, batch_size=10, sampler=sampler)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        seen = 0
        for inputs, labels in loader:
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = nn.functional.cross_entropy(model(inputs), labels)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            scaler.step(optimizer)
            scaler.update()
            seen += len(inputs)
            if average is not None:
                with torch.no_grad():
                    for slow, fast in zip(average.parameters(), net.parameters()):
                        slow.lerp_(fast, 0.05)
        counts = [None] * dist.get_world_size()
        dist.all_gather_object(counts, {"rank": rank, "seen": seen, "loss": loss.item()})
        if rank == 0:
            print(f"epoch {epoch}: {sum(one['seen'] for one in counts)} samples", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
