# tests/sim/managed/programs/torch_features.py — What torch has for distributed training, one function each:
# torch_features.py NAME [BACKEND]. Results are held
# against a single process that computes the same.
import datetime
import functools
import os
import shutil
import sys
import time

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.functional import cross_entropy, mse_loss
from torch.nn.parallel import DistributedDataParallel

STEPS, RATE = 3, 0.1
losses = []  # of this rank


def build():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 4))


def batch(rank, step=0):
    chance = torch.Generator().manual_seed(rank * 1000 + step)
    return torch.randn(8, 16, generator=chance), torch.randint(0, 4, (8,), generator=chance)


def train(model, rank, steps=STEPS, optimizer=None):
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=RATE)
    for step in range(steps):
        x, y = batch(rank, step)
        optimizer.zero_grad()
        loss = cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return model


def reference(world, batches=lambda step: [step]):
    """The same training in one process: gradients of all ranks, averaged."""
    model = build()
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    for step in range(STEPS):
        optimizer.zero_grad()
        for rank in range(world):
            for number in batches(step):
                x, y = batch(rank, number)
                (cross_entropy(model(x), y) / world).backward()
        optimizer.step()
    return model


def same(ours, theirs, within=1e-5):
    worst = (ours - theirs).abs().max().item()
    assert worst <= within, f"differs from a single process by {worst}"


def ddp(rank, world):
    model = train(DistributedDataParallel(build()), rank)
    same(model.module[0].weight, reference(world)[0].weight)


def ddp_no_sync(rank, world):
    model = DistributedDataParallel(build(), gradient_as_bucket_view=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    for step in range(STEPS):
        optimizer.zero_grad()
        with model.no_sync():
            x, y = batch(rank, 2 * step)
            cross_entropy(model(x), y).backward()
        x, y = batch(rank, 2 * step + 1)
        loss = cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    same(model.module[0].weight, reference(world, lambda step: [2 * step, 2 * step + 1])[0].weight)


def ddp_static_graph(rank, world):
    model = train(DistributedDataParallel(build(), static_graph=True), rank)
    same(model.module[0].weight, reference(world)[0].weight)


def ddp_unused_parameters(rank, world):
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = build(), build()

        def forward(self, x, first):
            return self.first(x) if first else self.second(x)

    model = DistributedDataParallel(Two(), find_unused_parameters=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    for step in range(STEPS):
        x, y = batch(rank, step)
        optimizer.zero_grad()
        cross_entropy(model(x, (step + rank) % 2), y).backward()
        optimizer.step()


def ddp_join(rank, world):
    model = DistributedDataParallel(build())
    with model.join():
        train(model, rank, steps=2 + rank % 3)


def ddp_hooks(rank, world):
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook

    model = DistributedDataParallel(build())
    model.register_comm_hook(None, default_hooks.bf16_compress_hook)
    same(train(model, rank).module[0].weight, reference(world)[0].weight, within=0.02)
    model = DistributedDataParallel(build())
    state = powerSGD_hook.PowerSGDState(None, start_powerSGD_iter=2, min_compression_rate=0.1)
    model.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
    train(model, rank, steps=4)


def fsdp1(rank, world):
    from torch.distributed.fsdp import FullyShardedDataParallel
    from torch.distributed.fsdp.wrap import size_based_auto_wrap_policy

    policy = functools.partial(size_based_auto_wrap_policy, min_num_params=500)
    model = FullyShardedDataParallel(build(), device_id=torch.device("cpu"), auto_wrap_policy=policy)
    train(model, rank)
    model.clip_grad_norm_(1.0)
    with FullyShardedDataParallel.summon_full_params(model):
        same(next(model.parameters()).view(32, 16), reference(world)[0].weight)


def fsdp2(rank, world):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh, model = init_device_mesh("cpu", (world,)), build()
    for layer in (model[0], model[2], model[4]):
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    train(model, rank)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    same(model[0].weight.full_tensor(), reference(world)[0].weight)


def hsdp(rank, world):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh("cpu", (2, world // 2), mesh_dim_names=("replicate", "shard"))
    model = build()
    fully_shard(model, mesh=mesh)
    train(model, rank)
    same(model[0].weight.full_tensor(), reference(world)[0].weight)


def tensor_parallel(rank, world):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Shard, distribute_tensor
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    mesh, model, whole = init_device_mesh("cpu", (world,)), build(), build()
    parallelize_module(model, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    x, y = batch(0)
    same(model(x), whole(x))
    cross_entropy(model(x), y).backward()
    cross_entropy(whole(x), y).backward()
    same(model[0].weight.grad.full_tensor(), whole[0].weight.grad)
    numbers = torch.arange(64.0).view(8, 8)
    rows = distribute_tensor(numbers, mesh, [Shard(0)])
    same(rows.redistribute(mesh, [Shard(1)]).full_tensor(), numbers)
    same((rows @ rows).full_tensor(), numbers @ numbers)


def pipeline(rank, world):
    from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe

    torch.manual_seed(0)
    layers = [nn.Linear(16, 16) for _ in range(world)]
    x = torch.randn(16, 16, generator=torch.Generator().manual_seed(5))
    y = torch.randn(16, 16, generator=torch.Generator().manual_seed(6))
    expected = mse_loss(nn.Sequential(*layers)(x), y).item()
    for kind in (ScheduleGPipe, Schedule1F1B):
        stage = PipelineStage(layers[rank], rank, world, torch.device("cpu"))
        schedule, parts = kind(stage, n_microbatches=4, loss_fn=mse_loss), []
        if rank == 0:
            schedule.step(x)
        elif rank == world - 1:
            schedule.step(target=y, losses=parts)
            assert abs(sum(parts).item() / 4 - expected) < 1e-5, (parts, expected)
        else:
            schedule.step()


def messages(rank, world):
    mine, theirs = torch.full((4,), float(rank)), torch.empty(4)
    pair = [
        dist.P2POp(dist.isend, mine, (rank + 1) % world),
        dist.P2POp(dist.irecv, theirs, (rank - 1) % world),
    ]
    for work in dist.batch_isend_irecv(pair):
        work.wait()
    assert theirs[0] == (rank - 1) % world
    if dist.get_backend() == "gloo":
        any_source(rank, world)
    dist.barrier()


def any_source(rank, world):
    if rank:
        dist.send(torch.tensor([float(rank)]), 0)
        return
    heard = set()
    for _ in range(world - 1):
        number = torch.empty(1)
        source = dist.recv(number)
        assert number.item() == source, (number, source)
        heard.add(source)
    assert heard == set(range(1, world))


def checkpoint(rank, world):
    import torch.distributed.checkpoint as dcp
    from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
    from torch.distributed.fsdp import fully_shard

    place, model = os.path.abspath("checkpoint"), build()
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters())
    train(model, rank, optimizer=optimizer)
    if rank == 0:
        shutil.rmtree(place, ignore_errors=True)
    dist.barrier()
    state, optimizer_state = get_state_dict(model, optimizer)
    dcp.save({"model": state, "optimizer": optimizer_state}, checkpoint_id=place)
    other = build()
    fully_shard(other)
    other_optimizer = torch.optim.AdamW(other.parameters())
    state, optimizer_state = get_state_dict(other, other_optimizer)
    dcp.load({"model": state, "optimizer": optimizer_state}, checkpoint_id=place)
    set_state_dict(other, other_optimizer, model_state_dict=state, optim_state_dict=optimizer_state)
    same(model[0].weight.full_tensor(), other[0].weight.full_tensor(), within=0)


def checkpoint_async(rank, world):
    import torch.distributed.checkpoint as dcp

    model = DistributedDataParallel(build())
    place = os.path.abspath("checkpoint_async")
    saved = dcp.async_save({"model": model.module.state_dict()}, checkpoint_id=place)
    train(model, rank)
    saved.result()
    assert os.path.exists(os.path.join(place, ".metadata"))


def zero(rank, world):
    from torch.distributed.optim import ZeroRedundancyOptimizer

    model = DistributedDataParallel(build())
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.SGD, lr=RATE)
    train(model, rank, optimizer=optimizer)
    same(model.module[0].weight, reference(world)[0].weight)
    optimizer.consolidate_state_dict(0)


def objects(rank, world):
    everybody = [None] * world
    dist.all_gather_object(everybody, {"rank": rank, "text": "x" * rank})
    assert [one["rank"] for one in everybody] == list(range(world))
    told = [{"a": 1}] if rank == 0 else [None]
    dist.broadcast_object_list(told, 0)
    assert told[0] == {"a": 1}
    gathered = [None] * world if rank == 0 else None
    dist.gather_object(rank, gathered, 0)
    assert rank or gathered == list(range(world))
    mine = [None]
    dist.scatter_object_list(mine, [10 + one for one in range(world)] if rank == 0 else None, 0)
    assert mine[0] == 10 + rank


def collectives(rank, world):
    number = torch.tensor([rank + 1.0])
    dist.reduce(number, 0, op=dist.ReduceOp.MAX)
    assert rank or number.item() == world
    part = torch.empty(2)
    dist.reduce_scatter_tensor(part, torch.arange(world * 2.0) + rank)
    everything = torch.stack([torch.arange(world * 2.0) + one for one in range(world)]).sum(0)
    same(part, everything[2 * rank : 2 * rank + 2])
    whole = torch.empty(world)
    dist.all_gather_into_tensor(whole, torch.tensor([float(rank)]))
    same(whole, torch.arange(float(world)))
    dist.all_to_all_single(whole, torch.arange(float(world)) + 10 * rank)
    same(whole, torch.arange(float(world)) * 10 + rank)
    sizes = np.arange(world) + 1  # an array, as Megatron-core passes it
    parts = torch.empty(int(sizes.sum()))
    dist.all_to_all_single(parts, torch.full((world * (rank + 1),), float(rank)), sizes, np.full(world, rank + 1))
    same(parts, torch.arange(float(world)).repeat_interleave(torch.from_numpy(sizes)))
    pieces = [torch.empty(one + 1) for one in range(world)]
    dist.all_to_all(pieces, [torch.full((rank + 1,), float(rank)) for _ in range(world)])
    assert [piece[0].item() for piece in pieces] == list(range(world))
    gathered = [torch.empty(3) for _ in range(world)] if rank == 0 else None
    dist.gather(torch.full((3,), float(rank)), gathered, 0)
    assert rank or gathered[world - 1][0] == world - 1
    mine = torch.empty(2)
    dist.scatter(mine, [torch.full((2,), float(one)) for one in range(world)] if rank == 0 else None, 0)
    assert mine[0] == rank
    groups(rank, world)
    many = [torch.ones(2) for _ in range(3)]
    for work in [dist.all_reduce(one, async_op=True) for one in many]:
        work.wait()
    import torch.distributed._functional_collectives as functional
    import torch.distributed.nn.functional as differentiable

    assert (functional.all_reduce(torch.ones(3), "sum", dist.group.WORLD) + 0)[0] == world
    leaf = torch.ones(2, requires_grad=True)
    differentiable.all_reduce(leaf * (rank + 1)).sum().backward()
    with dist._coalescing_manager(async_ops=True) as all_of_them:
        many = [torch.ones(2) for _ in range(3)]
        for one in many:
            dist.all_reduce(one)
    all_of_them.wait()
    assert many[2][0] == world
    complex_number = torch.tensor([1 + 2j])
    dist.all_reduce(complex_number)
    assert complex_number.item() == world * (1 + 2j)


def groups(rank, world):
    halves = [dist.new_group(list(range(first, world, 2))) for first in range(2)]
    one = torch.ones(1)
    dist.all_reduce(one, group=halves[rank % 2])
    assert one.item() == len(range(rank % 2, world, 2))
    mine, _ = dist.new_subgroups(world // 2)
    one = torch.ones(1)
    dist.all_reduce(one, group=mine)
    assert one.item() == world // 2
    if dist.get_backend() == "gloo":
        dist.monitored_barrier()
    dist.barrier()


def store(rank, world):
    shared = dist.distributed_c10d._get_default_store()
    if rank == 0:
        time.sleep(3)
        shared.set("key", "value")
    assert shared.get("key") == b"value"
    began = time.time()
    try:
        shared.wait(["never"], datetime.timedelta(seconds=7))
        raise SystemExit("nobody set this key")
    except dist.DistStoreError as trouble:
        assert "never" in str(trouble), trouble
    assert abs(time.time() - began - 7) < 0.1, time.time() - began
    own = dist.TCPStore("127.0.0.1", 1234, world, rank == 0)
    own.add("count", 1)
    mine = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    mine.set("rank", str(rank))
    own.set(f"port {rank}", str(mine.port))
    ports = [int(own.get(f"port {one}")) for one in range(world)]
    assert mine.port != 0 and len(set(ports)) == world, ports
    following = (rank + 1) % world
    assert dist.TCPStore("127.0.0.1", ports[following]).get("rank") == str(following).encode()
    dist.barrier()  # each rank has a server, and rank 0 that of the first two


FEATURES = {
    function.__name__: function
    for function in (
        *(ddp, ddp_no_sync, ddp_static_graph, ddp_unused_parameters, ddp_join, ddp_hooks, fsdp1, fsdp2, hsdp),
        *(tensor_parallel, pipeline, messages, checkpoint, checkpoint_async, zero, objects, collectives, store),
    )
}

if __name__ == "__main__":
    dist.init_process_group(sys.argv[2] if len(sys.argv) > 2 else "gloo")
    FEATURES[sys.argv[1]](dist.get_rank(), dist.get_world_size())
    if dist.get_rank() == 0:
        print("ok", sys.argv[1], f"loss {losses[-1]:.6f}" if losses else "", flush=True)
    dist.destroy_process_group()
