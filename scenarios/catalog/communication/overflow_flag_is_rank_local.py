# scenarios/catalog/communication/overflow_flag_is_rank_local.py — The fixed program.
import torch
import torch.distributed as dist

ROWS, WIDTH, STEPS = 8, 4, 8
dist.init_process_group("nccl")
rank, size = dist.get_rank(), dist.get_world_size()
device = torch.device("cuda", rank % torch.cuda.device_count()) if torch.cuda.is_available() else "cpu"
torch.manual_seed(1)
table = torch.randn(ROWS, WIDTH, device=device).half().requires_grad_()  # of all ranks alike
part = table.numel() // size
shard = table.detach().flatten()[rank * part : (rank + 1) * part].float()  # a rank's part, in full precision
optimizer = torch.optim.SGD([torch.nn.Parameter(shard)], lr=0.01)
shard = optimizer.param_groups[0]["params"][0]
scale = 1024.0


def has_overflow(gradient):
    """Whether any rank's part of the gradient is more than half precision holds."""
    overflow = (~gradient.isfinite().all()).float()
    dist.all_reduce(overflow, op=dist.ReduceOp.MAX)
    return bool(overflow)


for step in range(STEPS):
    row = (step + 2 * rank) % ROWS
    weight = 300.0 if (step, row) == (3, 5) else 1.0  # a token that is rare, and weighs a lot
    loss = (table[row] * weight).float().square().mean()
    table.grad = None
    (loss * scale).backward()
    shard.grad = torch.empty_like(shard)
    dist.reduce_scatter_tensor(shard.grad, table.grad.flatten().float())
    if has_overflow(shard.grad):
        print(f"overflow in step {step}: the step is skipped, the scale is {scale / 2}")
        scale /= 2
        continue
    shard.grad /= scale * size
    optimizer.step()
    dist.all_gather_into_tensor(whole := torch.empty(table.numel(), device=device), shard.detach())
    table.data.copy_(whole.view(ROWS, WIDTH))
dist.destroy_process_group()
