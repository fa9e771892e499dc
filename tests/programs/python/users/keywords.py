# tests/programs/python/users/keywords.py — Data parallel that passes every argument by its name: what stands
# before a function of torch must know the same names. Gradients go through a communication hook of torch's.
import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main():
    asked = argparse.ArgumentParser()
    asked.add_argument("--folder", required=True)
    folder = asked.parse_args().folder
    dist.init_process_group(backend="gloo", init_method="env://")
    torch.manual_seed(seed=0)
    dataset = TensorDataset(torch.randn(64, 16), torch.randn(64, 1))
    sampler = DistributedSampler(dataset=dataset, num_replicas=dist.get_world_size(), rank=dist.get_rank())
    loader = DataLoader(dataset=dataset, batch_size=8, sampler=sampler)
    model = DistributedDataParallel(module=nn.Linear(in_features=16, out_features=1))
    model.register_comm_hook(state=None, hook=default_hooks.bf16_compress_hook)
    optimizer = torch.optim.SGD(params=model.parameters(), lr=0.01)
    for epoch in range(2):
        sampler.set_epoch(epoch=epoch)
        for inputs, targets in loader:
            loss = nn.functional.mse_loss(input=model(inputs), target=targets)
            loss.backward(gradient=None)
            optimizer.step(closure=None)
            optimizer.zero_grad(set_to_none=True)
    total = loss.detach()
    dist.all_reduce(tensor=total, op=dist.ReduceOp.SUM)
    file = os.path.join(folder, f"rank{dist.get_rank()}.pt")
    os.makedirs(name=folder, exist_ok=True)
    torch.save(obj=model.module.state_dict(), f=file)
    model.module.load_state_dict(state_dict=torch.load(f=file))
    dist.barrier(group=None)
    dist.destroy_process_group(group=None)


if __name__ == "__main__":
    main()
