# tests/standin/gpu_devices.py — Several devices of one process, and the memory of one, as JSON. Run it with
# DEADRANK_STANDIN_MEMORY=4096.
import json
import warnings

import torch
from torch.cuda import comm

warnings.simplefilter("ignore")
answers = {"devices": torch.cuda.device_count()}

# Grouped NCCL calls on the default streams of several devices, of which one is current.
copies = comm.broadcast_coalesced([torch.ones(4, device="cuda"), torch.arange(4.0, device="cuda")], [0, 1, 2])
answers["broadcast"] = [[part.tolist() for part in copy] for copy in copies]
layer, batch = torch.nn.Linear(4, 2).cuda(), torch.randn(6, 4).cuda()
answers["data parallel"] = torch.equal(torch.nn.DataParallel(layer, [0, 1])(batch), layer(batch))
one = torch.randn(4, device="cuda:0", requires_grad=True)
(one.to("cuda:1") * 2).to("cuda:2").sum().backward()
answers["gradient"] = [str(one.grad.device), one.grad.tolist()]

# Memory. Blocks of 1 GiB until the device is full.
blocks = []
try:
    while True:
        blocks.append(torch.empty(1 << 30, dtype=torch.uint8, device="cuda"))
except torch.OutOfMemoryError as error:
    answers["full"] = str(error)
answers["blocks"] = len(blocks)
answers["statistic"] = torch.cuda.memory_stats()["num_ooms"]
answers["other device"] = torch.ones(3, device="cuda:1").tolist()
del blocks
torch.cuda.empty_cache()
answers["afterwards"] = torch.empty(3 << 30, dtype=torch.uint8, device="cuda").fill_(5)[-1].item()

# Random numbers are a function of the device's own generator, and leave the CPU's alone.
torch.manual_seed(0)
expected = torch.rand(2)
torch.manual_seed(0)
torch.rand(9, device="cuda")
torch.nn.functional.dropout(torch.ones(9, device="cuda"))
answers["CPU's sequence goes on"] = torch.equal(torch.rand(2), expected)
state = torch.cuda.get_rng_state()
first = torch.rand(4, device="cuda")
torch.cuda.set_rng_state(state)
answers["restored"] = torch.equal(torch.rand(4, device="cuda"), first)
answers["moves on"] = not torch.equal(torch.rand(4, device="cuda"), first)
print(json.dumps(answers))
