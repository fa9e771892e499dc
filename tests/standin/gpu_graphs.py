# tests/standin/gpu_graphs.py — Training steps that are captured once and replayed, beside the same steps without a graph.
# Alone, or one of several ranks whose gradients are averaged inside the graph. Prints what came out as JSON.
import json
import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

STEPS = 5
rank, world = 0, 1
if "RANK" in os.environ:
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    rank, world = dist.get_rank(), dist.get_world_size()


def batch(step):
    numbers = torch.Generator().manual_seed(100 * step + rank)
    return torch.randn(8, 16, generator=numbers), torch.randint(0, 4, (8,), generator=numbers)


class Trainer:
    def __init__(self):
        torch.manual_seed(0)
        self.net = nn.Sequential(nn.Linear(16, 32), nn.BatchNorm1d(32), nn.GELU(), nn.Linear(32, 4)).cuda()
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=1e-2, capturable=True)
        self.x, self.y = (tensor.cuda() for tensor in batch(0))

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = F.cross_entropy(self.net(self.x), self.y)
        loss.backward()
        if world > 1:
            for parameter in self.net.parameters():
                dist.all_reduce(parameter.grad)
                parameter.grad /= world
        self.optimizer.step()
        return loss

    def warm_up(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.step()
        torch.cuda.current_stream().wait_stream(side)

    def train(self, step):
        losses = []
        for number in range(STEPS):
            for kept, new in zip((self.x, self.y), batch(number)):
                kept.copy_(new)
            losses.append(step().item())
        return losses

    def state(self):
        return [tensor.clone() for tensor in self.net.state_dict().values()]


def equal(some, others):
    return all(torch.equal(one, other) for one, other in zip(some, others))


eager = Trainer()
eager.warm_up()
wanted = eager.train(eager.step)

trainer = Trainer()
trainer.warm_up()
before = trainer.state()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    loss = trainer.step()
unchanged = equal(before, trainer.state())


def replay():
    graph.replay()
    return loss


found = trainer.train(replay)

noise = torch.empty(64, device="cuda")
drawing = torch.cuda.CUDAGraph()
torch.cuda.manual_seed(1)
with torch.cuda.graph(drawing):
    noise.normal_()
drawing.replay()
first = noise.clone()
drawing.replay()

layer = nn.Sequential(nn.Linear(4, 4), nn.GELU(), nn.Linear(4, 1)).cuda()
x = torch.ones(2, 4, device="cuda", requires_grad=True)
layer(x).sum().backward()
gradient = x.grad.clone()
x.grad = None
torch.cuda.make_graphed_callables(layer, (torch.zeros(2, 4, device="cuda", requires_grad=True),))(x).sum().backward()

said = {
    "losses": found == wanted,
    "fall": wanted[0] > 0 and len(set(wanted)) == STEPS,
    "state": equal(eager.state(), trainer.state()),
    "capture changes nothing": unchanged,
    "draws anew": not torch.equal(first, noise),
    "graphed callable": torch.equal(gradient, x.grad),
}
print(json.dumps({f"rank {rank}": said}), flush=True)
if world > 1:
    dist.destroy_process_group()
