# tests/standin/torch_rank.py — One rank of a job: torch's process group, as anybody uses it. Values go to
# devices and back by copies, since torch's own kernels are not executed.
import os
import time
from datetime import timedelta

STEPS = 6
TIMEOUT = 5  # seconds, of the process groups
PATIENCE = 120  # seconds that a job may take
LINGERS = 12  # seconds between two calls: twice what it takes a heartbeat monitor to act, see torch_jobs.py

SHIMS = os.path.abspath(os.environ.get("DEADRANK_SHIMS", "build/shims"))


def reduce(torch, dist, job, rank, step, tensor):
    other = job.get("deviation", {})
    if (other.get("rank"), other.get("step")) != (rank, step):
        dist.all_reduce(tensor)
    elif other["does"] == "half":
        dist.all_reduce(tensor[:512])
    elif other["does"] == "broadcast":
        dist.broadcast(tensor, 0)
    else:
        time.sleep(PATIENCE)


def collectives(torch, dist, job, rank, size):
    for step in range(1, STEPS + 1):
        tensor = torch.full((1024,), float(rank + 1)).cuda()
        reduce(torch, dist, job, rank, step, tensor)
        torch.cuda.synchronize()
        expected = size * (size + 1) / 2
        wrong = int((tensor.cpu() != expected).sum())
        print(f"step {step}: {wrong} wrong", flush=True)
    everything(torch, dist, rank, size)


def everything(torch, dist, rank, size):
    """Each collective once, with values."""
    mine = torch.full((4,), float(rank)).cuda()
    gathered = [torch.zeros(4).cuda() for _ in range(size)]
    dist.all_gather(gathered, mine)
    parts = torch.arange(4.0 * size).cuda()
    scattered = torch.zeros(4).cuda()
    dist.reduce_scatter_tensor(scattered, parts)
    exchanged = torch.zeros(size).cuda()
    dist.all_to_all_single(exchanged, torch.full((size,), float(rank)).cuda())
    told = torch.full((4,), float(rank)).cuda()
    dist.broadcast(told, size - 1)
    dist.barrier()
    torch.cuda.synchronize()
    good = (
        [float(one.cpu()[0]) for one in gathered] == [float(other) for other in range(size)]
        and scattered.cpu().tolist() == [size * (4.0 * rank + at) for at in range(4)]
        and exchanged.cpu().tolist() == [float(other) for other in range(size)]
        and told.cpu().tolist() == [size - 1.0] * 4
    )
    print(f"everything: {'good' if good else 'WRONG'}", flush=True)


def messages(torch, dist, job, rank, size):
    tensor = torch.full((256,), float(rank)).cuda()
    other = torch.zeros(256).cuda()
    for _ in range(2):
        if rank == 0:
            dist.send(tensor, 1)
            dist.recv(other, 1)
        else:
            dist.recv(other, 0)
            dist.send(tensor, 0)
        torch.cuda.synchronize()
        print(f"message: {float(other.cpu()[0])}", flush=True)


def groups(torch, dist, job, rank, size, **settings):
    halves = [dist.new_group(list(range(half, half + size // 2)), **settings) for half in (0, size // 2)]
    mine = halves[0] if rank < size // 2 else halves[1]
    store = dist.distributed_c10d._get_default_store()
    for turn in range(3):
        parts = [torch.zeros(8).cuda() for _ in range(size // 2)]
        dist.all_gather(parts, torch.full((8,), float(rank)).cuda(), group=mine)
        torch.cuda.synchronize()
        print(f"gathered: {[float(part.cpu()[0]) for part in parts]}", flush=True)
        if turn == 0 and rank > 0:  # the first call makes a group's communicator, by way of rank 0's store
            store.set(f"met{rank}", "")
        if turn == 0 and rank == 0:
            store.wait([f"met{other}" for other in range(1, size)])


def careful_groups(torch, dist, job, rank, size):
    groups(torch, dist, job, rank, size, timeout=timedelta(seconds=TIMEOUT))


def lingering(torch, dist, job, rank, size):
    """Calls that end well, then work without calls, then one more."""
    tensor = torch.full((64,), 1.0).cuda()
    for step in (1, 2, 3):
        dist.all_reduce(tensor)
        torch.cuda.synchronize()
        print(f"step {step}: {float(tensor.cpu()[0])}", flush=True)
    time.sleep(LINGERS)
    print("one more", flush=True)
    dist.all_reduce(tensor)
    torch.cuda.synchronize()
    print(f"step 4: {float(tensor.cpu()[0])}", flush=True)


BODIES = {
    "messages": messages,
    "groups": careful_groups,
    "careless_groups": groups,
    "lingering": lingering,
}


def be_rank(job, rank, size, port, folder):
    os.setsid()
    out = os.open(f"{folder}/rank{rank}.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(out, 1)
    os.dup2(out, 2)
    os.environ.update(
        {
            "RANK": str(rank),
            "WORLD_SIZE": str(size),
            "DEADRANK_PLAN": f"{folder}/plan.json",
            "DEADRANK_EVIDENCE": f"{folder}/evidence",
            "TORCH_FR_BUFFER_SIZE": "200",
            "TORCH_NCCL_DUMP_ON_TIMEOUT": "1",
            "TORCH_FR_DUMP_TEMP_FILE": f"{folder}/dumps/rank_",
            "TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC": "1500",  # four of these pass from the dump to the end
            "NCCL_DEBUG": "WARN",
            **({"NCCL_HOSTID": f"host{rank}"} if job.get("hosts") else {}),
            **{name: said.replace("{shims}", SHIMS) for name, said in job.get("environment", {}).items()},
        }
    )
    import torch
    import torch.distributed as dist

    devices = torch.cuda.device_count()
    if devices < size:  # NCCL lets ranks of one host share no device
        os.environ["NCCL_HOSTID"] = f"host{rank}"
    torch.cuda.set_device(rank % devices)
    # A store of its own: to meet may take longer on a busy machine than a collective is allowed to.
    store = dist.TCPStore("127.0.0.1", port, size, rank == 0, timeout=timedelta(seconds=PATIENCE))
    limit = timedelta(seconds=TIMEOUT)
    backend = job.get("backend", "nccl")
    dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=limit)
    BODIES.get(job.get("body"), collectives)(torch, dist, job, rank, size)
    dist.destroy_process_group()
