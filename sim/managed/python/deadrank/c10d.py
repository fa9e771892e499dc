# sim/managed/python/deadrank/c10d.py — Where torch.distributed is changed: one function for each private name of
# torch that is relied upon, with what for and the releases that it was tried with. All else of torch runs as it is.
import datetime
import functools
import os
import sys
import types

import torch
import torch.distributed as dist
import torch.distributed.distributed_c10d as c10d

from . import spawned, store, works
from .channel import here, refuse_child
from .process_group import ProcessGroup

RELEASES = ("2.4.1", "2.8.0", "2.11.0", "2.15.0")  # tried
BACKEND = "sim"
NCCL_TIMEOUT = datetime.timedelta(minutes=10)  # torch's default, which a wheel without NCCL does not know

asked = {}  # what the program said of the group that torch is about to make
singles = []  # libraries of the groups that the program made by their class


def install():
    """In the zygote, once."""
    for change in (
        register_backend,
        replace_group_helper,
        replace_stores,
        replace_groups,
        show_backends,
        replace_flight_recorder,
        replace_allreduce_hook,
        replace_logging_data,
        keep_dynamo_out,
        replace_spawn,
        replace_batch,
        keep_one_thread,
    ):
        change()


def begin():
    """In a rank, before the program: what torch reads from the environment when it is imported."""
    dist.set_debug_level_from_env()


def register_backend():
    """Public, 2.4 to 2.15. A function that returns a ProcessGroup gives the group itself."""
    if BACKEND.upper() not in c10d.Backend._plugins:
        dist.Backend.register_backend(BACKEND, make_group, extended_api=True, devices=["cpu", "cuda"])
        c10d.Backend.backend_list.remove(BACKEND)  # programs try each backend of the list
    for device in list(c10d.Backend.default_device_backend_map):
        if c10d.Backend.default_device_backend_map[device] == BACKEND:
            del c10d.Backend.default_device_backend_map[device]


def make_group(opts, _=None):
    members = list(opts.global_ranks_in_group) or list(range(opts.group_size))
    timeout = opts.timeout.total_seconds()
    return ProcessGroup(
        opts.store,
        store.underlying(opts.store),
        opts.group_rank,
        opts.group_size,
        members,
        opts.group_id,
        asked["description"],
        asked["libraries"],
        int(timeout * 1e9),
    )


def replace_group_helper():
    """`_new_process_group_helper`, `_world.pg_map`, `_world.pg_backend_config`: 2.4 to 2.15. The program's
    backend is put back after the group is made, so that get_backend answers what it asked for."""
    real = c10d._new_process_group_helper

    @functools.wraps(real)
    def helper(group_size, group_rank, ranks, backend, *more, **said):
        if here.orphan:
            refuse_child()
        if here.channel is None or is_foreign(str(backend)):
            return real(group_size, group_rank, ranks, backend, *more, **said)
        word, device = str(backend), said.get("device_id")
        asked.update(libraries=libraries_of(word), description=said.get("group_desc") or "undefined")
        for name in ("backend_options", "pg_options"):
            if name in said:
                said[name] = None
        if "device_id" in said:
            said["device_id"] = None
        with_ours = c10d.Backend.backend_list
        with_ours.append(BACKEND)
        try:
            group, prefixed = real(group_size, group_rank, ranks, BACKEND, *more, **said)
        finally:
            with_ours.remove(BACKEND)
        if isinstance(group, ProcessGroup):
            c10d._world.pg_map[group] = (c10d.Backend(word), c10d._world.pg_map[group][1])
            c10d._world.pg_backend_config[group] = str(c10d.BackendConfig(c10d.Backend(word)))
            if device is not None and group.library == "nccl":
                group.bound_device_id = device
                group.eager_connect_single_device(device)
        return group, prefixed

    c10d._new_process_group_helper = helper


def replace_batch():
    """`batch_isend_irecv`, `_coalescing_manager`: 2.4 to 2.11, where only torch's own class is taken for one that
    can make one call of a batch."""
    real = c10d.batch_isend_irecv

    @functools.wraps(real)
    def batch_isend_irecv(p2p_op_list):
        c10d._check_p2p_op_list(p2p_op_list)
        group = p2p_op_list[0].group or c10d._get_default_group()
        if not isinstance(group, ProcessGroup) or group.side([p2p_op_list[0].tensor]).library != "nccl":
            return real(p2p_op_list)
        with c10d._coalescing_manager(group, p2p_op_list[0].tensor.device, async_ops=True) as batch:
            for one in p2p_op_list:
                one.op(one.tensor, one.peer, one.group, one.tag)
        return batch.works

    dist.batch_isend_irecv = c10d.batch_isend_irecv = batch_isend_irecv


def keep_one_thread():
    """Public, 2.4 to 2.15. OpenMP's threads do not survive a fork, and would run beside the thread whose turn it is."""
    real = torch.set_num_threads

    @functools.wraps(real)
    def set_num_threads(count):
        if here.channel is None:
            real(count)

    torch.set_num_threads = set_num_threads


def replace_spawn():
    """`torch.multiprocessing.start_processes`: 2.4 to 2.15. Spawned processes would run outside of the simulation."""
    import torch.multiprocessing

    spawn = sys.modules["torch.multiprocessing.spawn"]  # the attribute is the function
    real = spawn.start_processes

    @functools.wraps(real)
    def start_processes(*args, **said):
        if here.orphan:
            refuse_child()
        return real(*args, **said) if here.channel is None else spawned.play(*args, **said)

    spawn.start_processes = torch.multiprocessing.start_processes = start_processes


def is_foreign(word):
    """Backends that exchange nothing with other processes stay torch's own, and one that the program has written in
    Python is part of the program."""
    names = {one.split(":")[-1].lower() for one in word.split(",")}
    return any(name in ("fake", "threaded") or is_programs_own(name) for name in names)


def is_programs_own(name):
    """`Backend._plugins`: 2.4 to 2.15. A library's backend has a constructor in C++; torch 2.15 registers its own."""
    plugin = c10d.Backend._plugins.get(name.upper())
    make = getattr(plugin, "creator_fn", None)
    return isinstance(make, types.FunctionType) and make is not make_group and make.__module__ != c10d.__name__


def libraries_of(word):
    """nccl or gloo for each device type, as torch resolves the program's word."""
    word = word.lower()
    if word in ("undefined", "none", ""):
        libraries = {"cpu": "gloo", "cuda": "nccl"}
        return libraries if torch.cuda.is_available() else {"cpu": "gloo"}
    if ":" not in word:
        return {"cpu": library(word), "cuda": library(word)}
    return {one.split(":")[0]: library(one.split(":")[1]) for one in word.split(",")}


def library(word):
    return "gloo" if word in ("gloo", "mpi", "ucc") else "nccl"


def replace_stores():
    """TCPStore and FileStore in three modules: 2.4 to 2.15. The attribute `rendezvous` of torch.distributed is a
    function, not the module."""
    for name in ("TCPStore", "FileStore"):
        real, simulated = getattr(dist, name), getattr(store, name)

        def make(*args, real=real, simulated=simulated, **said):
            if here.orphan:
                refuse_child()
            if here.channel is None:
                return real(*args, **said)
            return simulated(*args, **said)

        chosen = type(name, (ChosenStore,), {"real": real, "simulated": simulated, "make": staticmethod(make)})
        for module in (dist, c10d, sys.modules["torch.distributed.rendezvous"]):
            if hasattr(module, name):
                setattr(module, name, chosen)


class Chooser(type):
    """The simulator's class in a rank, torch's own elsewhere, under one name."""

    def __call__(cls, *args, **said):
        return cls.make(*args, **said)

    def __instancecheck__(cls, instance):
        return isinstance(instance, cls.real) or cls.is_simulated(instance)

    def __getattr__(cls, name):
        return getattr(cls.real, name)


class ChosenStore(metaclass=Chooser):
    @classmethod
    def is_simulated(cls, instance):
        return isinstance(instance, cls.simulated)


class ChosenGroup(metaclass=Chooser):
    @classmethod
    def is_simulated(cls, instance):
        return isinstance(instance, ProcessGroup) and instance.library == cls.library


def replace_groups():
    """`ProcessGroupNCCL`, `ProcessGroupGloo`: 2.4 to 2.15. Some programs make a group by its class, and torch asks
    for the class of one before it sets a time-out."""
    for library in ("nccl", "gloo"):
        name = {"nccl": "ProcessGroupNCCL", "gloo": "ProcessGroupGloo"}[library]
        real = getattr(c10d, name, None)
        if real is None:
            continue

        def make(*args, real=real, library=library, **said):
            if here.orphan:
                refuse_child()
            if here.channel is None:
                return real(*args, **said)
            return make_single(library, *args, **said)

        chosen = type(name, (ChosenGroup,), {"real": real, "library": library, "make": staticmethod(make)})
        for module in (dist, c10d):
            if hasattr(module, name):
                setattr(module, name, chosen)


def make_single(library, kept, rank, size, options=None, timeout=None):
    """A group of one library and of all `size` ranks, which torch has not registered."""
    if isinstance(options, (datetime.timedelta, float, int)):
        options, timeout = None, options
    timeout = timeout or getattr(options, "_timeout", None) or c10d.default_pg_timeout
    singles.append(library)
    name = f"{library}_{len(singles)}"
    return ProcessGroup(
        kept,
        store.underlying(kept),
        rank,
        size,
        list(range(size)),
        name,
        name,
        {"cpu": library, "cuda": library},
        store.nanoseconds(timeout),
    )


def show_backends():
    """`is_nccl_available`, `is_gloo_available`, `default_pg_nccl_timeout`: 2.4 to 2.15. A wheel without
    NCCL can run programs that ask for it."""
    for name in ("nccl", "gloo"):
        real = getattr(c10d, f"is_{name}_available")

        def available(real=real):
            return here.channel is not None or real()

        setattr(c10d, f"is_{name}_available", available)
        setattr(dist, f"is_{name}_available", available)
    if getattr(c10d, "default_pg_nccl_timeout", NCCL_TIMEOUT) is None:
        c10d.default_pg_nccl_timeout = NCCL_TIMEOUT


def replace_flight_recorder():
    """`_maybe_attach_flight_recorder`: 2.15. It wants a backend in C++."""
    real = getattr(c10d, "_maybe_attach_flight_recorder", None)
    if real is None:
        return

    @functools.wraps(real)
    def attach(*args, **said):
        return None if here.channel is not None else real(*args, **said)

    c10d._maybe_attach_flight_recorder = attach


def replace_allreduce_hook():
    """`Reducer._run_allreduce_hook`: 2.4 to 2.15. A communication hook in Python may wait at once for the future
    of the default one."""
    real = dist.Reducer._run_allreduce_hook

    def run(self, bucket):
        works.eager.append(True)
        try:
            return real(self, bucket)
        finally:
            works.eager.pop()

    dist.Reducer._run_allreduce_hook = run


def replace_logging_data():
    """`DistributedDataParallel._get_ddp_logging_data`: 2.4 to 2.15. C++ reads it from a group of its own."""
    parallel = torch.nn.parallel.DistributedDataParallel
    real = parallel._get_ddp_logging_data

    @functools.wraps(real)
    def logging_data(self):
        data = real(self)
        if data.get("backend_name") == BACKEND:
            data["backend_name"] = self.process_group.library
            if data["backend_name"] == "gloo":
                data.update(
                    gloo_socket_ifname=os.environ.get("GLOO_SOCKET_IFNAME", "N/A"),
                    gloo_device_transport=os.environ.get("GLOO_DEVICE_TRANSPORT", "N/A"),
                    gloo_num_threads=2,
                )
        return data

    parallel._get_ddp_logging_data = logging_data


def keep_dynamo_out():
    """`_torchdynamo_disable`: 2.4 to 2.15. Dynamo would trace into the process group."""
    for kind in (ProcessGroup, works.Work):
        for name, value in list(vars(kind).items()):
            if callable(value) and not name.startswith("__"):
                value._torchdynamo_disable = True
