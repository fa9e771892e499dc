# tests/standin/operator_time.py — What an operator costs on a simulated GPU beside the CPU, in one process.
# Prints the best of five rounds, in microseconds a call.
import time

import torch

torch.set_num_threads(1)
ROUNDS = 5


def best(function, calls):
    for _ in range(20):
        function()
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        for _ in range(calls):
            function()
        times.append((time.perf_counter() - began) / calls)
    return min(times) * 1e6


def cases(device):
    x, y = torch.ones(16, device=device), torch.ones(16, device=device)
    many = [torch.ones(16, device=device) for _ in range(1000)]
    square = torch.ones(512, 512, device=device)
    weight = torch.ones(16, 16, device=device, requires_grad=True)
    yield "add", lambda: x + y, 2000
    yield "add_", lambda: x.add_(y), 2000
    yield "view", lambda: x.view(4, 4), 2000
    yield "empty", lambda: torch.empty(16, device=device), 2000
    yield "cat", lambda: torch.cat([x, y]), 2000
    yield "item", lambda: x[0].item(), 2000
    yield "dropout", lambda: torch.dropout(x, 0.5, True), 2000
    yield "_foreach_add_ of 1000", lambda: torch._foreach_add_(many, 1.0), 20
    yield "mm 512", lambda: square @ square, 10
    yield "linear, forward and backward", lambda: torch.nn.functional.linear(y, weight).sum().backward(), 500


print(f"{'torch ' + torch.__version__:32} {'cpu':>9} {'cuda':>9}   more")
for (name, on_cpu, calls), (_, on_gpu, _) in zip(cases("cpu"), cases("cuda")):
    host, device = best(on_cpu, calls), best(on_gpu, calls)
    print(f"{name:32} {host:9.2f} {device:9.2f} {device - host:6.2f}")
