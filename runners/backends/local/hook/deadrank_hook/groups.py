# runners/backends/local/hook/deadrank_hook/groups.py — The rendezvous at the store, and the communicators
# created after it. They are numbered in order of creation, which is the same on all members of a correct
# program.
import os
import re
import sys
import threading

from .evidence import code_of


class Inside(threading.local):
    call = False  # set while torch's own code runs: its inner collectives are not the subject's


inside = Inside()

# Frameworks' names for what the evidence calls tp, pp, …; torch's own meshes say mesh_tp.
PURPOSES = {
    "TENSOR_MODEL_PARALLEL_GROUP": "tp",
    "PIPELINE_MODEL_PARALLEL_GROUP": "pp",
    "CONTEXT_PARALLEL_GROUP": "cp",
    "MODEL_PARALLEL_GROUP": "mp",
    "DATA_PARALLEL_GROUP": "dp",
}


def purpose_of(described):
    return PURPOSES.get(described) or (described or "").removeprefix("mesh_")


class Communicator:
    def __init__(self, number, name, members):
        self.number, self.name, self.members = number, name, members
        self.calls = 0  # collectives so far
        self.pairs = 0  # point-to-point calls so far


class Communicators:
    def __init__(self):
        self.known = {}  # process group → Communicator
        self.created = 0

    def next(self, name, members):
        self.created += 1
        return Communicator(self.created, name, members)

    def forget(self, group):
        """Destroyed ones: a group that we held would keep the library's threads alive until the interpreter
        shuts down, which aborts the process if one of them still holds a tensor (pytorch/pytorch#179291)."""
        if group is None:
            self.known.clear()
        else:
            self.known.pop(group, None)

    def of(self, group):
        known = self.known.get(group)
        if known is not None:
            return known
        import torch.distributed as dist

        if group is None:
            group = getattr(dist.group, "WORLD", None)
        known = self.known.get(group)
        if known is None:
            known = self.known[group] = self.next("unknown", list(range(dist.get_world_size())))
        return known


def span(ranks):
    """Ranks as the evidence writes them: 0-3,6 — in their own order."""
    parts = []
    for rank in ranks:
        if parts and rank == parts[-1][1] + 1:
            parts[-1][1] = rank
        else:
            parts.append([rank, rank])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)


def number_in(text, otherwise):
    try:
        return int(text)
    except (TypeError, ValueError):
        return otherwise


def watch(hook):
    import torch.distributed.distributed_c10d as c10d

    hook.communicators = Communicators()
    hook.opening = None  # the world communicator while its ranks still meet at the store
    watch_store(hook, c10d)
    replace(c10d, "init_process_group", lambda real: lambda *a, **k: open_world(hook, real, a, k))
    replace(c10d, "new_group", lambda real: lambda *a, **k: open_group(hook, real, a, k))


def replace(module, name, wrap):
    """Replaces a torch.distributed function by a wrapper, in each of torch's modules that has it by name: a
    device mesh, for one, opens the world with a function that it imported before us."""
    import functools

    real = getattr(module, name, None)
    if real is None:
        return
    wrapped = functools.wraps(real)(wrap(real))
    for home, other in list(sys.modules.items()):
        if home.startswith("torch.distributed") and getattr(other, "__dict__", {}).get(name) is real:
            setattr(other, name, wrapped)


def watch_store(hook, c10d):
    real = c10d.rendezvous

    def rendezvous(url, rank=-1, world_size=-1, **settings):
        env = os.environ
        claimed = rank if rank >= 0 else number_in(env.get("RANK"), -1)
        expected = world_size if world_size >= 0 else number_in(env.get("WORLD_SIZE"), 0)
        endpoint = hook.store.meant or f"{env.get('MASTER_ADDR', '')}:{env.get('MASTER_PORT', '')}"
        hook.evidence.write("rendezvous.enter", claimed_rank=claimed, expected=expected, endpoint=endpoint)
        try:
            answer = next(real(url, rank, world_size, **settings))
        except Exception as trouble:
            joined = re.search(r"(\d+)/\d+ clients joined", str(trouble))
            hook.evidence.write(
                "rendezvous.leave", joined=int(joined[1]) if joined else 0, result=code_of(trouble)
            )
            raise
        hook.evidence.write("rendezvous.leave", joined=expected, result="ok")
        if hook.opening is not None:
            announce(hook, *hook.opening)
        yield answer

    c10d.rendezvous = rendezvous


def announce(hook, made, rank_in_comm):
    hook.opening = None
    hook.evidence.write(
        "comm.init.enter",
        comm=made.number,
        size=len(made.members),
        rank_in_comm=rank_in_comm,
        name=made.name,
        members=span(made.members),
    )


def create(hook, made, real, args, settings, transport):
    inside.call = True
    try:
        group = real(*args, **settings)
    except Exception as trouble:
        if hook.opening is not None:  # it failed earlier: the rendezvous has recorded why
            raise
        hook.evidence.write("comm.init.leave", comm=made.number, result=code_of(trouble), transport=transport)
        hook.evidence.write("comm.error", comm=made.number, code=code_of(trouble), message=str(trouble)[:400])
        raise
    finally:
        inside.call = False
    hook.evidence.write(
        "comm.init.leave", comm=made.number, result="ok", transport=backend_of(group, transport))
    return group


def backend_of(group, told):
    """The backend that torch chose, if the program left that to torch."""
    import torch.distributed as dist

    return told if told not in ("", "None", "undefined") else str(dist.get_backend(group))


def open_world(hook, real, args, settings):
    import torch.distributed as dist

    size = settings.get("world_size", -1)
    rank = settings.get("rank", -1)
    size = size if size >= 0 else number_in(os.environ.get("WORLD_SIZE"), 0)
    rank = rank if rank >= 0 else number_in(os.environ.get("RANK"), -1)
    if size == 1:  # a rank that believes it is alone shares its communicators with no other
        hook.communicators.created = 1000 * hook.slot
    made = hook.communicators.next("world", list(range(size)))
    hook.opening = (made, rank)
    hook.injector.at("comm_init", "world")
    if settings.get("store") is not None:  # there is no rendezvous to wait for
        announce(hook, *hook.opening)
    create(hook, made, real, args, settings, str(settings.get("backend") or (args[0] if args else "")))
    hook.communicators.known[dist.group.WORLD] = made


def open_group(hook, real, args, settings):
    import torch.distributed as dist

    ranks = settings.get("ranks", args[0] if args else None)
    ranks = list(ranks) if ranks is not None else list(range(dist.get_world_size()))
    name = purpose_of(settings.get("group_desc")) or f"group{hook.communicators.created}"
    made = hook.communicators.next(name, ranks)
    if dist.get_rank() not in ranks:
        return real(*args, **settings)
    hook.injector.at("comm_init", name)
    announce(hook, made, ranks.index(dist.get_rank()))
    group = create(hook, made, real, args, settings, dist.get_backend())
    hook.communicators.known[group] = made
    return group
