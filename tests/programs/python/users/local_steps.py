# tests/programs/python/users/local_steps.py — Local SGD by hand: every rank trains alone for eight steps,
# then the parameters are averaged. Between two averages the ranks differ by right.
import torch
import torch.distributed as dist
from torch import nn


def average(model):
    for parameter in model.parameters():
        dist.all_reduce(parameter.data)
        parameter.data /= dist.get_world_size()


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(20, 40), nn.ReLU(), nn.Linear(40, 1))
    average(model)
    criterion = nn.HuberLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    torch.manual_seed(dist.get_rank() + 50)
    for step in range(1, 49):
        inputs = torch.randn(16, 20)
        optimizer.zero_grad()
        loss = criterion(model(inputs), inputs.mean(1, keepdim=True))
        loss.backward()
        optimizer.step()
        if step % 8 == 0:
            average(model)
    print(f"rank {dist.get_rank()}: {loss.item():.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
