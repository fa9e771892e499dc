# scenarios/catalog/computation/expert_gradients_not_divided.py — The fixed program.
import torch
import torch.distributed as dist
from deadrank import check
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.nn.functional import all_to_all_single

WIDTH, TOKENS, STEPS, EP = 4, 8, 5, 2
torch.set_default_dtype(torch.float64)
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
mesh = init_device_mesh("cpu", (size // EP, EP), mesh_dim_names=("edp", "ep"))
torch.manual_seed(1)
router = torch.nn.Linear(WIDTH, WIDTH)  # dense: on all ranks
experts = torch.nn.ModuleList([torch.nn.Linear(WIDTH, WIDTH) for _ in range(EP)])
whole = torch.nn.ModuleList([torch.nn.Linear(WIDTH, WIDTH) for _ in range(1 + EP)])  # the same training on one rank
for one, of in zip(whole, [router, *experts], strict=True):
    one.load_state_dict(of.state_dict())
expert = experts[mesh["ep"].get_local_rank()]
fully_shard(router, mesh=init_device_mesh("cpu", (size,)))
fully_shard(expert, mesh=mesh["edp"])
expert.set_gradient_divide_factor(size)  # its tokens come from all ranks, its shards lie on fewer
optimizer = torch.optim.SGD([*router.parameters(), *expert.parameters()], lr=0.05)
reference = torch.optim.SGD(whole.parameters(), lr=0.05)


def batch(step, of):
    return torch.randn(TOKENS, WIDTH, generator=torch.Generator().manual_seed(100 * step + of))


def loss_on_one_rank(step):
    """Token i of a rank goes to expert i // (TOKENS // EP)."""
    total = 0.0
    for of in range(size):
        parts = whole[0](batch(step, of)).chunk(EP)
        total = total + torch.cat([whole[1 + e](part) for e, part in enumerate(parts)]).square().mean() / size
    reference.zero_grad()
    total.backward()
    return total


for step in range(STEPS):
    expected = loss_on_one_rank(step)
    routed = router(batch(step, rank))
    arrived = all_to_all_single(torch.empty_like(routed), routed, group=mesh["ep"].get_group())
    computed = expert(arrived)
    returned = all_to_all_single(torch.empty_like(computed), computed, group=mesh["ep"].get_group())
    loss = returned.square().mean()
    optimizer.zero_grad()
    loss.backward()
    logged = loss.detach() / size
    dist.all_reduce(logged)
    check("reference.loss", logged, expected)
    optimizer.step()
    reference.step()
dist.destroy_process_group()
