# sim/managed/python/deadrank/monitored_barrier.py — gloo's monitored barrier: rank 0 hears of each member, and then
# answers all. Texts as in torch's ProcessGroupGloo.cpp.
import torch

from .channel import here
from .store import nanoseconds

TAG = 1 << 30  # no program's own
SHORTEST = 1_000_000  # ns


def meet(group, timeout, wait_all_ranks):
    limit = group.limit if timeout is None else nanoseconds(timeout)
    if group.place == 0:
        receive_all(group, limit, wait_all_ranks)
        return
    try:
        group.send([signal()], 0, TAG).finish(max(limit, SHORTEST))
        group.recv([signal()], 0, TAG + 1).finish(max(limit, SHORTEST))
    except RuntimeError as trouble:
        raise RuntimeError(
            f"Rank {group.place} successfully reached monitoredBarrier, but received errors while waiting for "
            f"send/recv from rank 0. Please check rank 0 logs for faulty rank.\n Original exception: \n{trouble}"
        ) from None


def receive_all(group, limit, wait_all_ranks):
    milliseconds = limit // 1_000_000
    end = here.channel.time() + limit
    missing = []
    for rank in range(1, group.count):
        left = end - here.channel.time()
        if left <= 0 and not wait_all_ranks:
            raise RuntimeError(
                f"Rank {group.place} timed out in monitoredBarrier after {milliseconds} ms."
            )
        try:
            group.recv([signal()], rank, TAG).finish(max(left, SHORTEST))
        except RuntimeError as trouble:
            if not wait_all_ranks:
                raise RuntimeError(
                    f"[Rank 0]: Rank {rank} failed to pass monitoredBarrier in {milliseconds} ms\n "
                    f"Original exception: \n{trouble}"
                ) from None
            missing.append(str(rank))
    if missing:
        raise RuntimeError(
            f"[Rank 0]: Ranks {', '.join(missing)} failed to pass monitoredBarrier in {milliseconds} ms"
        )
    for rank in range(1, group.count):
        group.send([signal()], rank, TAG + 1).finish(max(end - here.channel.time(), SHORTEST))


def signal():
    return torch.zeros(1)
