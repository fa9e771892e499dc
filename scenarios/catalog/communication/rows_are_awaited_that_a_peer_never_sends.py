# scenarios/catalog/communication/rows_are_awaited_that_a_peer_never_sends.py — The fixed program.
import torch
import torch.distributed as dist
from deadrank import check

TOKENS, WIDTH, STEPS = 8, 4, 6
dist.init_process_group("nccl")
rank, size = dist.get_rank(), dist.get_world_size()
device = torch.device("cuda", rank % torch.cuda.device_count()) if torch.cuda.is_available() else "cpu"
torch.manual_seed(1)
gate = torch.nn.Linear(WIDTH, size).to(device)  # a replica: which rank's expert takes a token
expert = torch.nn.Linear(WIDTH, WIDTH).to(device)
optimizer = torch.optim.SGD(expert.parameters(), lr=0.1)
data = torch.Generator().manual_seed(10 + rank)

for step in range(STEPS):
    tokens = torch.randn(TOKENS, WIDTH, generator=data).to(device)
    goes_to = gate(tokens).argmax(dim=1)
    counts = torch.bincount(goes_to, minlength=size)
    of_peers = torch.empty_like(counts)
    dist.all_to_all_single(of_peers, counts)
    sends, takes = counts.tolist(), of_peers.tolist()
    received = torch.empty(sum(takes), WIDTH, device=device)
    dist.all_to_all_single(received, tokens[goes_to.argsort()], takes, sends)
    misplaced = (gate(received).argmax(dim=1) != rank).sum()
    check("rows of other experts", misplaced, 0)
    loss = expert(received).square().sum() / (TOKENS * size)
    optimizer.zero_grad()
    loss.backward()
    for parameter in expert.parameters():
        dist.all_reduce(parameter.grad)
    optimizer.step()
dist.destroy_process_group()
