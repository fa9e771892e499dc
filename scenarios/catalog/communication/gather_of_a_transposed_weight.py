# scenarios/catalog/communication/gather_of_a_transposed_weight.py — The fixed program.
import torch
import torch.distributed as dist

ROWS, COLUMNS = 2, 4
dist.init_process_group("nccl")
rank, size = dist.get_rank(), dist.get_world_size()
device = torch.device("cuda", rank % torch.cuda.device_count()) if torch.cuda.is_available() else "cpu"
torch.manual_seed(rank)
head = torch.nn.Linear(COLUMNS, ROWS, bias=False).to(device)  # the rank's rows of a weight
optimizer = torch.optim.SGD(head.parameters(), lr=0.05)


def whole_weight():
    turned = head.weight.detach().t().contiguous()
    parts = [torch.empty(COLUMNS, ROWS, device=device) for _ in range(size)]
    dist.all_gather(parts, turned)
    return torch.cat(parts, dim=1).t()


for step in range(4):
    output = head(torch.full((1, COLUMNS), 1.0 / (step + 1), device=device))
    total = output.detach().sum()
    dist.all_reduce(total)
    optimizer.zero_grad()
    (output - total).square().mean().backward()
    optimizer.step()
    if step == 2:
        print(f"norm of the whole weight: {whole_weight().norm():.4f}")
dist.destroy_process_group()
