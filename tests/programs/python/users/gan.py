# tests/programs/python/users/gan.py — A GAN: two networks, each in its own DistributedDataParallel, two
# optimizers that step in turn, and noise that differs on every rank.
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def mlp(*widths):
    layers = []
    for a, b in zip(widths, widths[1:]):
        layers += [nn.Linear(a, b), nn.LeakyReLU(0.2)]
    return nn.Sequential(*layers[:-1])


def run():
    dist.init_process_group(backend="gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(5)
    generator, critic = DDP(mlp(8, 64, 64, 2)), DDP(mlp(2, 64, 64, 1))
    for_generator = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
    for_critic = torch.optim.Adam(critic.parameters(), lr=2e-4, betas=(0.5, 0.999))
    bce = nn.BCEWithLogitsLoss()
    angle = torch.rand(512) * 6.28
    points = TensorDataset(torch.stack([angle.cos(), angle.sin()], 1))
    sampler = DistributedSampler(points, num_replicas=world, rank=rank)
    loader = DataLoader(points, batch_size=16, sampler=sampler, drop_last=True)
    torch.manual_seed(100 + rank)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for (real,) in loader:
            ones, zeros = torch.ones(len(real), 1), torch.zeros(len(real), 1)
            fake = generator(torch.randn(len(real), 8))
            critic_loss = bce(critic(real), ones) + bce(critic(fake.detach()), zeros)
            for_critic.zero_grad()
            critic_loss.backward()
            for_critic.step()
            for_generator.zero_grad()
            generator_loss = bce(critic(fake), ones)
            generator_loss.backward()
            for_generator.step()
        if rank == 0:
            print(f"epoch {epoch}: critic {critic_loss:.3f} generator {generator_loss:.3f}", flush=True)
    dist.destroy_process_group()


run()
