# tests/others/frameworks/colossal_booster.py — Colossal-AI's Booster as in its documentation, for GPUs, with --plugin
# torch_ddp, zero1, zero2 or gemini.
import argparse

import colossalai
import torch
import torch.distributed as dist
from colossalai.booster import Booster
from colossalai.booster.plugin import GeminiPlugin, LowLevelZeroPlugin, TorchDDPPlugin
from torch import nn


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--plugin", default="zero1")
    arguments = parser.parse_args()
    colossalai.launch_from_torch(seed=42)
    if arguments.plugin == "torch_ddp":
        plugin = TorchDDPPlugin()
    elif arguments.plugin == "gemini":
        plugin = GeminiPlugin(precision="bf16", initial_scale=1)
    else:
        plugin = LowLevelZeroPlugin(stage=int(arguments.plugin[-1]), precision="fp32")
    booster = Booster(plugin=plugin)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 4)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    criterion = nn.CrossEntropyLoss()
    model, optimizer, criterion, _, _ = booster.boost(model, optimizer, criterion)
    data = torch.Generator().manual_seed(dist.get_rank())
    for step in range(10):
        inputs = torch.randn(8, 16, generator=data).cuda()
        labels = torch.randint(0, 4, (8,), generator=data).cuda()
        loss = criterion(model(inputs).float(), labels)
        booster.backward(loss, optimizer)
        optimizer.step()
        optimizer.zero_grad()
        if step % 5 == 4:
            booster.save_model(model, f"model-{step}", shard=True)
    total = loss.detach()
    dist.all_reduce(total)
    if dist.get_rank() == 0:
        print(f"loss {total.item() / dist.get_world_size():.6f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
