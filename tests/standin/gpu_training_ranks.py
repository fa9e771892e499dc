# tests/standin/gpu_training_ranks.py — Data-parallel training as programs for GPUs do it, on the ranks that
# torchrun starts. Rank 0 prints losses and gradient norms as JSON: `--device cuda` over NCCL, `--device
# cpu` over Gloo.
import argparse
import json
import os
import warnings

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel

STEPS = 4
WIDTH = 48


def make_model(device):
    torch.manual_seed(0)
    layers = [
        nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH)) for _ in range(3)
    ]
    return nn.Sequential(nn.Embedding(64, WIDTH), *layers, nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 64)).to(
        device
    )


def train(model, optimizer, device):
    generator = torch.Generator().manual_seed(1 + dist.get_rank())
    numbers = []
    for _ in range(STEPS):
        tokens = torch.randint(0, 64, (4, 9), generator=generator).to(device, non_blocking=True)
        loss = F.cross_entropy(model(tokens[:, :-1]).reshape(-1, 64).float(), tokens[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        norm = norm.full_tensor() if hasattr(norm, "full_tensor") else norm
        numbers.append((mean.item() / dist.get_world_size(), norm.item()))
    return numbers


def wrap(model, device, **settings):
    return DistributedDataParallel(
        model, device_ids=[device.index] if device.type == "cuda" else None, **settings
    )


def data_parallel(device):
    model = wrap(make_model(device), device, bucket_cap_mb=0.05)
    return train(model, torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True), device)


def zero_redundancy(device):
    model = wrap(make_model(device), device, gradient_as_bucket_view=True)
    return train(model, ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW, lr=1e-3), device)


def fully_sharded(device, **settings):
    mesh = init_device_mesh(device.type, (dist.get_world_size(),))
    model = make_model(device)
    for layer in model:
        if isinstance(layer, nn.Sequential):
            fully_shard(layer, mesh=mesh, **settings)
    fully_shard(model, mesh=mesh, **settings)
    return train(model, torch.optim.AdamW(model.parameters(), lr=1e-3), device)


def fully_sharded_bf16(device):
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    return fully_sharded(device, mp_policy=policy)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    device = torch.device("cpu")
    if options.device == "cuda":
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if options.device == "cuda" else "gloo")
    for program in (data_parallel, zero_redundancy, fully_sharded, fully_sharded_bf16):
        numbers = program(device)
        if dist.get_rank() == 0:
            print(json.dumps({program.__name__: numbers}), flush=True)
    dist.barrier()
    dist.destroy_process_group()


main()
