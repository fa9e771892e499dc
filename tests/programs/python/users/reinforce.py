# tests/programs/python/users/reinforce.py — A small policy gradient: episodes of different length on every
# rank, advantages normalized over all ranks, policy and value networks in one DistributedDataParallel each,
# a target network that follows slowly.
import copy
import random

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def episode(policy, generator):
    state, states, actions, rewards = torch.randn(4, generator=generator), [], [], []
    for _ in range(generator.initial_seed() % 5 + 8):
        with torch.no_grad():
            action = torch.distributions.Categorical(logits=policy(state)).sample()
        states.append(state)
        actions.append(action)
        rewards.append(float(state[action]))
        state = state * 0.9 + torch.randn(4, generator=generator) * 0.3
    return torch.stack(states), torch.stack(actions), torch.tensor(rewards).flip(0).cumsum(0).flip(0)


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    policy_net, value_net = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 4)), nn.Linear(4, 1)
    target = copy.deepcopy(value_net)
    policy, value = DistributedDataParallel(policy_net), DistributedDataParallel(value_net)
    optimizer = torch.optim.Adam([*policy.parameters(), *value.parameters()], lr=1e-3)
    torch.manual_seed(rank)
    random.seed(rank)
    for iteration in range(25):
        generator = torch.Generator().manual_seed(1000 * iteration + 7 * rank)
        states, actions, returns = episode(policy_net, generator)
        with torch.no_grad():
            advantage = returns - target(states).squeeze(1)
        moments = torch.stack([advantage.sum(), advantage.square().sum(), torch.tensor(float(len(returns)))])
        dist.all_reduce(moments)
        mean = moments[0] / moments[2]
        advantage = (advantage - mean) / (moments[1] / moments[2] - mean.square()).clamp_min(1e-6).sqrt()
        logs = torch.distributions.Categorical(logits=policy(states)).log_prob(actions)
        loss = -(logs * advantage).mean() + nn.functional.mse_loss(value(states).squeeze(1), returns)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for slow, fast in zip(target.parameters(), value_net.parameters()):
                slow.lerp_(fast, 0.02)
    if rank == 0:
        print(f"returns {returns.mean().item():.3f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
