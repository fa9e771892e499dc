# scenarios/catalog/initialization/parallel_unit_test_fails_in_ci.py — The fixed program.
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.nn.functional import all_to_all_single

WIDTH, TOKENS, EP = 4, 8, 2
torch.set_default_dtype(torch.float64)
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
mesh = init_device_mesh("cpu", (size // EP, EP), mesh_dim_names=("edp", "ep"))


def tokens_of(of):
    return torch.randn(TOKENS, WIDTH, generator=torch.Generator().manual_seed(of))


def shard_expert(expert):
    """The code under test: an expert on the ranks that share it."""
    fully_shard(expert, mesh=mesh["edp"])
    expert.set_gradient_divide_factor(size)  # its tokens come from all ranks, its shards lie on fewer


def test_gradients_of_experts_are_those_of_one_process():
    torch.manual_seed(1)
    experts = torch.nn.ModuleList([torch.nn.Linear(WIDTH, WIDTH) for _ in range(EP)])
    number = mesh["ep"].get_local_rank()
    expected = torch.nn.Linear(WIDTH, WIDTH)
    expected.load_state_dict(experts[number].state_dict())
    for of in range(size):
        (expected(tokens_of(of).chunk(EP)[number]).square().sum() / (TOKENS * WIDTH * size)).backward()
    expert = experts[number]
    shard_expert(expert)
    group = mesh["ep"].get_group()
    arrived = all_to_all_single(torch.empty(TOKENS, WIDTH), tokens_of(rank), group=group)
    computed = expert(arrived)
    returned = all_to_all_single(torch.empty_like(computed), computed, group=group)
    returned.square().mean().backward()
    torch.testing.assert_close(expert.weight.grad.full_tensor(), expected.weight.grad)


test_gradients_of_experts_are_those_of_one_process()
dist.destroy_process_group()
