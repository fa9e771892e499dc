# sim/managed/python/deadrank/process_group.py — torch's process group, whose calls the simulator plays. Bytes go to
# the arena when a call is posted and come back when the program waits for it.
import ctypes
import datetime

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import (
    AllgatherOptions,
    AllreduceCoalescedOptions,
    AllreduceOptions,
    BarrierOptions,
    BroadcastOptions,
    GatherOptions,
    ReduceOp,
    ReduceOptions,
    ReduceScatterOptions,
    ScatterOptions,
)

from . import channel as wire
from . import dispatcher, gloo_checks, graphs, nccl_checks
from .store import patience_of
from .channel import NotSimulated, here, refuse_child
from .observers import reduced
from .works import Work, finished

ALL_REDUCE, BROADCAST, REDUCE, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL, GATHER, SCATTER, BARRIER = range(1, 10)
SPLITS = 1  # flag of a COLLECTIVE: sizes to and from each member follow

REDUCTIONS = (
    (ReduceOp.SUM, 1),
    (ReduceOp.MAX, 2),
    (ReduceOp.MIN, 3),
    (ReduceOp.PRODUCT, 4),
    (ReduceOp.AVG, 5),
    (ReduceOp.BAND, 6),
    (ReduceOp.BOR, 7),
    (ReduceOp.BXOR, 8),
)
JOINED = {
    "SUM": torch.add,
    "MAX": torch.maximum,
    "MIN": torch.minimum,
    "PRODUCT": torch.mul,
    "AVG": torch.add,
    "BAND": torch.bitwise_and,
    "BOR": torch.bitwise_or,
    "BXOR": torch.bitwise_xor,
}
SUM = 1
AVERAGES = (1, 5)  # reductions with which gradients are averaged
PREMUL_SUM = getattr(ReduceOp.RedOpType, "PREMUL_SUM", None)
NAMES = ("SUM", "MAX", "MIN", "PRODUCT", "AVG", "BAND", "BOR", "BXOR")
DTYPES = {
    torch.int8: 1,
    torch.int32: 2,
    torch.int64: 3,
    torch.float16: 4,
    torch.bfloat16: 5,
    torch.float32: 6,
    torch.float64: 7,
    torch.uint8: 8,
    torch.int16: 9,
    torch.bool: 10,
    torch.complex64: 11,
    torch.complex128: 12,
}
FLOAT8 = 13
NOT_GLOOS = {torch.int16}  # and 8-bit floats
TITLES = {torch.int64: "Long", torch.int32: "Int", torch.int8: "Char", torch.uint8: "Byte", torch.bool: "Bool"}
ANY_SOURCE = -1
PROFILED = {
    ALL_REDUCE: "all_reduce",
    BROADCAST: "broadcast",
    REDUCE: "reduce",
    ALL_GATHER: "all_gather",
    REDUCE_SCATTER: "reduce_scatter",
    ALL_TO_ALL: "all_to_all",
    GATHER: "gather",
    SCATTER: "scatter",
    BARRIER: "barrier",
}


TAKES_WHOLE = (ALL_REDUCE, BROADCAST, REDUCE, ALL_GATHER)  # NCCL is handed the address of what they are given


def is_in_one_piece(tensor):
    """As ProcessGroupNCCL asks: contiguous in the memory format that the tensor suggests."""
    return tensor.is_contiguous() or (tensor.dim() == 4 and tensor.is_contiguous(memory_format=torch.channels_last))


def dtype_of(tensor):
    number = DTYPES.get(tensor.dtype)
    if number is None:
        number = FLOAT8 if "float8" in str(tensor.dtype) else DTYPES[torch.uint8]
    return number


def is_gloos(tensor):
    return tensor.dtype not in NOT_GLOOS and "float8" not in str(tensor.dtype)


def bytes_of(tensor):
    return tensor.numel() * tensor.element_size()


def is_plain(tensor):
    """Whether its elements lie in memory one after the other, as they are."""
    return tensor.is_contiguous() and not tensor.is_conj() and not tensor.is_neg()


def copy_in(tensor, offset):
    size = bytes_of(tensor)
    if not size:
        return
    arena = here.channel.arena
    if not is_plain(tensor):
        with torch.no_grad():
            tensor = tensor.detach().resolve_conj().resolve_neg().contiguous()
    ctypes.memmove(arena.base + offset, tensor.data_ptr(), size)


def copy_out(offset, tensor):
    size = bytes_of(tensor)
    if not size:
        return
    arena = here.channel.arena
    if is_plain(tensor):
        ctypes.memmove(tensor.data_ptr(), arena.base + offset, size)
        return
    with torch.no_grad():
        whole = torch.empty(tensor.shape, dtype=tensor.dtype, device=tensor.device)
        ctypes.memmove(whole.data_ptr(), arena.base + offset, size)
        tensor.detach().copy_(whole)


def limit_of(options, default):
    """The time-out of a call in ns: its own, or the group's."""
    timeout = getattr(options, "timeout", None)
    if not isinstance(timeout, datetime.timedelta) or timeout.total_seconds() <= 0:
        return default
    return timeout // datetime.timedelta(microseconds=1) * 1000


DEFAULT_GROUP = "0"  # as c10d names the first; faults and findings call it world


class Side:
    """One library of a group (nccl or gloo) and its communicators. NCCL's are opened when they are first used,
    one for the group and one for each pair that exchanges messages outside of a batch; gloo's at once."""

    def __init__(self, group, library):
        self.group, self.library = group, library
        self.comms = {}  # None: the whole group; (lower, higher): a pair → the simulator's number
        self.eager = False
        if library == "gloo":
            self.comm()

    def comm(self, pair=None, tensors=(), device=None):
        if here.channel is None:
            refuse_child()
        number = self.comms.get(pair)
        if number is None:
            number = self.comms[pair] = self.open(pair, tensors, device)
        return number

    def open(self, pair, tensors, device):
        """NCCL opens it on the device of `tensors`; without tensors on `device`; without both on the current device."""
        group = self.group
        if self.library == "nccl" and hasattr(here.channel, "devices"):
            device = next((one.device.index for one in tensors if one.is_cuda), device)
            here.channel.ask(wire.DEVICE, op="use", device=current_device() if device is None else device)
        members, name = group.members, group.title
        if group.many:
            name = f"{name}/{self.library}"
        if pair is not None:
            members = [members[one] for one in pair]
            name = f"{name}/{pair[0]}:{pair[1]}"
        return here.channel.ask(
            wire.COMM_OPEN,
            name="world" if name == DEFAULT_GROUP else name,
            members=members,
            rank=group.members[group.place],
            timeout=group.limit,
            library=self.library,
            store=group.store,
            store_timeout=patience_of(group.store_kept),
            description=group.description,
        )["comm"]

    def close(self, how):
        for number in self.comms.values() if here.channel is not None else ():
            here.channel.ask(wire.COMM_CLOSE, comm=number, how=how)
        self.comms.clear()


class ProcessGroup(dist.ProcessGroup):
    """`libraries`: of each device type; `members`: ranks in the default group."""

    __module__ = dist.ProcessGroup.__module__  # messages of torch show the type's name

    def __init__(self, store, number, rank, size, members, name, description, libraries, timeout):
        super().__init__(rank, size)
        self.store_kept, self.store = store, number
        self.place, self.count = rank, size
        self.members = list(members)
        self.title, self.description = name, description
        self.limit = timeout
        self.sequence = 0
        self.batch = None  # works between _start_coalescing and _end_coalescing
        self.batch_comm = None
        self.splits = 0
        self.sides, self.many = {}, len(set(libraries.values())) > 1
        made = {}
        for device, library in libraries.items():
            if library not in made:
                made[library] = Side(self, library)
            self.sides[device] = made[library]
        self.library = "nccl" if "nccl" in made else next(iter(made))
        self.default = made[self.library]

    def side(self, tensors):
        """A device without a library of its own takes the default: NCCL's semantics can be tried without GPUs."""
        if not tensors:
            return self.default
        device = tensors[0].device.type
        if not self.serves(device):
            raise RuntimeError(f"No backend type associated with device type {device}")
        return self.sides.get(device, self.default)

    def serves(self, device):
        """NCCL takes tensors of the CPU only where there are no GPUs."""
        library = self.sides.get(device, self.default).library
        return device != "cpu" or library != "nccl" or not hasattr(here.channel, "devices")

    def close(self, how):
        for side in {id(side): side for side in self.sides.values()}.values():
            side.close(how)

    def shutdown(self):
        self.close("destroy")

    def abort(self):
        self.close("abort")

    # What torch asks of a group

    def getBackendName(self):
        return "sim"  # "gloo" or "nccl" makes DDP's logger cast the group to the real class

    def name(self):
        return self.library

    def _get_backend_name(self):
        return self.library

    @property
    def group_name(self):
        return self.title

    @property
    def pg_name(self):
        return self.title

    def getGroupName(self):
        return self.title

    def _set_group_name(self, name):
        self.title = name

    setGroupName = _set_group_name

    @property
    def group_desc(self):
        return self.description

    def getGroupDesc(self):
        return self.description

    def _set_group_desc(self, description):
        self.description = description

    setGroupDesc = _set_group_desc

    def getRank(self):
        return self.place

    def getSize(self):
        return self.count

    def get_group_store(self):
        return self.store_kept

    def _get_backend(self, device):
        return self

    @property
    def _device_types(self):
        return [torch.device(device) for device in ("cpu", "cuda") if self.serves(device)]

    @property
    def options(self):
        timeout = datetime.timedelta(microseconds=self.limit // 1000)
        return Options(self.library, timeout, self.members, self.title)

    @property
    def supports_splitting(self):
        return self.library == "nccl"

    def comm_split_count(self):
        return self.splits

    def split_group(self, ranks, timeout=None, opts=None, group_name=None, group_desc=None):
        """Called by all members. Returns the group of `ranks` (places in this group), None to all others."""
        self.splits += 1
        if self.place not in ranks:
            return None
        limit = self.limit if timeout is None else timeout // datetime.timedelta(microseconds=1) * 1000
        group = ProcessGroup(
            self.store_kept,
            self.store,
            ranks.index(self.place),
            len(ranks),
            [self.members[rank] for rank in ranks],
            group_name,
            group_desc or "undefined",
            {device: side.library for device, side in self.sides.items()},
            limit,
        )
        group.eager_connect_single_device(None)
        return group

    splitGroup = split_group

    @property
    def supports_shrinking(self):
        return False

    @property
    def supports_coalescing(self):
        return self.library == "nccl"

    @property
    def supports_time_estimate(self):
        return False

    def supports_tensor_alloc(self, device):
        return False

    def _set_sequence_number_for_group(self):
        pass

    def _get_sequence_number_for_group(self):
        return self.sequence

    def _set_default_timeout(self, timeout):
        self.limit = timeout // datetime.timedelta(microseconds=1) * 1000

    set_timeout = _set_default_timeout

    def _add_ephemeral_timeout(self, timeout):
        pass  # it prolongs the calls under way, of which the simulator's watchdog has taken the time

    @property
    def uid(self):
        return 0

    def _has_hooks(self):
        return False

    def _wait_for_pending_works(self):
        pass

    def _verify_work_timeout(self, work, timeout):
        return True

    def _group_start(self):
        self._start_coalescing()

    def _group_end(self):
        self._end_coalescing()

    def _enable_collectives_timing(self):
        pass

    def enable_coll_timing(self):
        pass

    @staticmethod
    def create_device(*args, **said):
        """gloo's network device, which no simulated group uses."""
        return torch._C._distributed_c10d.ProcessGroupGloo.create_device(*args, **said)

    def _is_initialized(self):
        return bool(self.default.comms)

    def eager_connect_single_device(self, device):
        self.default.eager = True
        self.default.comm(device=None if device is None else device.index)

    def perform_nocolor_split(self, device):
        pass

    def get_error(self):
        from torch._C._distributed_c10d import ErrorType

        if not self.default.comms:
            return ErrorType.SUCCESS
        code = here.channel.ask(wire.COMM_ERROR, comm=self.default.comm())["code"]
        words = {"ok": ErrorType.SUCCESS, "timeout": ErrorType.TIMEOUT}
        return words.get(code, ErrorType.COMM_ERROR)

    # Collectives

    def _start_coalescing(self, device=None):
        self.batch, self.batch_comm = [], None

    def _end_coalescing(self, device=None):
        works, self.batch = self.batch or [], None
        if self.batch_comm is not None:
            here.channel.post(wire.GROUP_END, wire.GROUP.pack(self.batch_comm))
            self.batch_comm = None
        return Work.of_all(self, works)

    def post(self, op, ins, outs, result, options=None, **said):
        """One collective: `ins` are copied to the arena one after the other, `outs` are copied back from it.
        Returns the work."""
        self.yield_before_call()
        side = self.side(ins or outs)
        if side.library == "gloo" and (ins or outs) and not is_gloos((ins or outs)[0]):
            raise RuntimeError("Invalid scalar type")
        if side.library == "nccl" and op in TAKES_WHOLE and not all(map(is_in_one_piece, ins)):
            raise ValueError("Tensors must be contiguous")
        comm = side.comm(tensors=ins or outs)
        self.sequence += 1
        work = Work(self, side.library, PROFILED[op], result, limit_of(options, self.limit))
        work.on_stream(ins or outs)
        work.profile(PROFILED[op], ins, ins if said.get("in_place") else outs)
        self.send_collective(work, comm, op, ins, outs, **said)
        if self.batch is not None:
            self.batch.append(work)
        return work

    def send_collective(
        self, work, comm, op, ins, outs, in_place=False, reduction=0, root=-1, count=None, pieces=None
    ):
        arena = here.channel.arena
        first = ins[0] if ins else outs[0] if outs else None
        in_bytes, out_bytes = sum(map(bytes_of, ins)), sum(map(bytes_of, outs))
        in_offset = out_offset = 0
        if in_bytes:
            in_offset = work.take(arena, in_bytes)
            place = in_offset
            for tensor in ins:
                copy_in(tensor, place)
                place += bytes_of(tensor)
        if in_place:
            out_offset, out_bytes = in_offset, in_bytes
        elif out_bytes:
            out_offset = work.take(arena, out_bytes)
        place = out_offset
        for tensor in outs:
            work.back.append((place, tensor))
            place += bytes_of(tensor)
        flags, tail = 0, b""
        if pieces is not None:
            flags = SPLITS
            tail = b"".join([wire.PAIR.pack(given, taken) for given, taken in pieces])
        if count is None:
            count = sum(tensor.numel() for tensor in ins)
        body = wire.COLLECTIVE_BODY.pack(
            work.begin(comm),
            comm,
            op,
            reduction,
            dtype_of(first) if first is not None else DTYPES[torch.uint8],
            flags,
            root,
            0,
            count,
            in_offset,
            in_bytes,
            out_offset,
            out_bytes,
        )
        here.channel.call(wire.COLLECTIVE, body + tail)

    def reduction(self, options, tensor):
        op = options.reduceOp if hasattr(options, "reduceOp") else options
        if op == PREMUL_SUM:  # the inputs were multiplied (premultiplied)
            if self.side([tensor]).library == "gloo":
                raise RuntimeError("Cannot use ReduceOp.PREMUL_SUM with Gloo")
            return SUM
        for name, (one, number) in zip(NAMES, REDUCTIONS):
            if op == one:
                self.check_reduction(name, tensor, self.side([tensor]).library)
                return number
        raise NotSimulated(f"deadrank: the reduction {getattr(op, 'op', op)} is not simulated")

    def check_reduction(self, name, tensor, library):
        """Texts of torch 2.11."""
        bits = name in ("BAND", "BOR", "BXOR")
        if library == "nccl" and bits:
            raise ValueError(f"Cannot use ReduceOp.{name} with NCCL")
        if library == "gloo" and bits and (tensor.is_floating_point() or tensor.is_complex()):
            raise RuntimeError(f"Cannot use ReduceOp.{name} with non-integral dtype")
        if library == "gloo" and name == "AVG" and not (tensor.is_floating_point() or tensor.is_complex()):
            kind = TITLES.get(tensor.dtype, str(tensor.dtype))
            raise RuntimeError(f"result type Float can't be cast to the desired output type {kind}")

    def is_gloos(self, tensors):
        return self.side(tensors).library == "gloo"

    def allreduce(self, tensors, opts=None, timeout=None, op=None):
        tensors, opts = listed(tensors), opts_of(AllreduceOptions, opts if op is None else op)
        if self.is_gloos(tensors):
            gloo_checks.allreduce(tensors, opts.reduceOp == ReduceOp.SUM)
        else:
            nccl_checks.allreduce(tensors)
        if tensors[0].layout != torch.strided:
            return self.sparse(tensors)
        if len(tensors) > 1 and self.is_gloos(tensors):
            return self.reduce_together(tensors, opts)
        return self.reduce_all(tensors, opts)

    def reduce_together(self, tensors, opts):
        """Over gloo several tensors of a rank are reduced with one another as well."""
        first, *others = tensors
        join = JOINED[NAMES[self.reduction(opts, first) - 1]]
        with torch.no_grad():
            for other in others:
                copy_tensor(join(first.detach(), other.detach()), first)
        work = self.reduce_all([first], opts)
        work.answer = tensors
        work.after = lambda: [copy_tensor(first, other) for other in others]
        return work

    def reduce_all(self, tensors, opts):
        reduction = self.reduction(opts, tensors[0])
        if reduction in AVERAGES:
            reduced(tensors, self.members)
        ins = premultiplied(tensors, opts)
        return self.post(ALL_REDUCE, ins, tensors, tensors, opts, in_place=True, reduction=reduction)

    def allreduce_coalesced(self, tensors, opts=None):
        tensors, opts = listed(tensors), opts_of(AllreduceCoalescedOptions, opts)
        if self.is_gloos(tensors):
            gloo_checks.allreduce_coalesced(tensors)
        if len({tensor.dtype for tensor in tensors}) == 1:
            return self.reduce_all(tensors, opts)
        return Work.of_all(self, [self.reduce_all([tensor], opts) for tensor in tensors], tensors)

    def sparse(self, tensors):
        """As gloo does: sizes, then indices and values, padded to the longest."""
        record = Work.record("gloo:sparse_all_reduce", tensors)
        tensor = sum(tensors[1:], tensors[0]).coalesce()
        count = torch.tensor([tensor._nnz()])
        counts = [torch.zeros_like(count) for _ in range(self.count)]
        self.allgather([counts], [count]).wait()
        longest = max(int(one) for one in counts)
        indices, values = tensor._indices(), tensor._values()
        padded = indices.new_zeros((longest, indices.shape[0]))
        padded[: tensor._nnz()] = indices.t()
        padded_values = values.new_zeros((longest, *values.shape[1:]))
        padded_values[: tensor._nnz()] = values
        all_indices = [torch.empty_like(padded) for _ in counts]
        all_values = [torch.empty_like(padded_values) for _ in counts]
        self.allgather([all_indices], [padded]).wait()
        self.allgather([all_values], [padded_values]).wait()
        parts = [part[: int(one)] for part, one in zip(all_indices, counts)]
        value_parts = [part[: int(one)] for part, one in zip(all_values, counts)]
        reduced = torch.sparse_coo_tensor(torch.cat(parts).t(), torch.cat(value_parts), tensor.shape)
        with torch.no_grad():
            for one in tensors:
                one.copy_(reduced.coalesce())
        record.end()
        return finished(self, [reduced.coalesce() for _ in tensors])

    def reduce(self, tensors, opts=None, *more, root=None, op=None):
        tensors, opts = listed(tensors), rooted(ReduceOptions, opts, *more, root=root, op=op)
        if self.is_gloos(tensors):
            gloo_checks.reduce(tensors, opts, self.count)
        else:
            nccl_checks.one_tensor(tensors)
        mine = opts.rootRank == self.place
        reduction = self.reduction(opts, tensors[0])
        return self.post(
            REDUCE,
            premultiplied(tensors, opts),
            tensors if mine else [],
            tensors,
            opts,
            in_place=True,
            reduction=reduction,
            root=opts.rootRank,
        )

    def broadcast(self, tensors, opts=None, *more, root=None):
        tensors, opts = listed(tensors), rooted(BroadcastOptions, opts, *more, root=root)
        if self.is_gloos(tensors):
            gloo_checks.broadcast(tensors, opts, self.count)
            if len(tensors) > 1:
                return self.broadcast_to_all(tensors, opts)
        else:
            nccl_checks.one_tensor(tensors)
        outs = tensors if opts.rootRank != self.place else []
        return self.post(BROADCAST, tensors, outs, tensors, opts, in_place=True, root=opts.rootRank)

    def broadcast_to_all(self, tensors, opts):
        """Over gloo one tensor of the root goes to all tensors of each rank."""
        sent = tensors[opts.rootTensor]
        outs = [sent] if opts.rootRank != self.place else []
        work = self.post(BROADCAST, [sent], outs, tensors, opts, in_place=True, root=opts.rootRank)
        work.after = lambda: [copy_tensor(sent, one) for one in tensors if one is not sent]
        return work

    def allgather(self, outputs, inputs, opts=None, timeout=None):
        if isinstance(inputs, torch.Tensor):
            outputs, inputs = [outputs], [inputs]
        opts = opts_of(AllgatherOptions, opts)
        if self.is_gloos(inputs):
            gloo_checks.allgather(outputs, inputs, self.count)
            return self.gather_together(outputs, inputs, opts)
        works = []
        for outs, mine in zip(outputs, inputs):
            if len({out.numel() for out in outs}) > 1:
                works.append(self.allgather_uneven(outs, mine, opts))
            else:
                self.check_gathered(outs, mine)
                works.append(self.post(ALL_GATHER, [mine], outs, outputs, opts))
                works[-1].stacked = outs
        return works[0] if len(works) == 1 else Work.of_all(self, works, outputs)

    def gather_together(self, outputs, inputs, opts):
        """Over gloo each output list of a rank gets all inputs of all ranks."""
        first, *others = outputs
        work = self.post(ALL_GATHER, list(inputs), first, outputs if others else first, opts)
        if others:
            work.after = lambda: [copy_tensor(one, out) for outs in others for one, out in zip(first, outs)]
        return work

    def check_gathered(self, outs, mine):
        """Texts of torch 2.11."""
        if len(outs) != self.count:
            raise ValueError("Tensor output list is not valid for the number of participants")
        for place, out in enumerate(outs):
            if out.dtype != mine.dtype:
                raise RuntimeError(
                    f"invalid tensor type at index {place} (expected {mine.dtype}, got {out.dtype})"
                )
            if out.numel() != mine.numel():
                raise RuntimeError(
                    f"invalid tensor size at index {place} (expected {shape(mine)}, got {shape(out)})"
                )

    def allgather_uneven(self, outs, mine, opts):
        """As torch does over NCCL: each member broadcasts its own."""
        works = []
        for root, out in enumerate(outs):
            if root == self.place:
                copy_tensor(mine, out)
            works.append(self.broadcast([out], rooted(BroadcastOptions, root)))
        return Work.of_all(self, works, [outs])

    def allgather_coalesced(self, output_lists, inputs, opts=None):
        """`output_lists`: for each member a list of as many tensors as the input has. One call, as in gloo."""
        if self.is_gloos(inputs):
            gloo_checks.allgather_coalesced(output_lists, inputs, self.count)
        outs = [out for outs in output_lists for out in outs]
        return self.post(ALL_GATHER, list(inputs), outs, output_lists, opts)

    def _allgather_base(self, output, tensor, opts=None):
        nccl_checks.allgather_base(output, tensor, self.count)
        return self.post(ALL_GATHER, [tensor], [output], [output], opts)

    all_gather_single = _allgather_base

    def allgather_into_tensor_coalesced(self, outputs, inputs, opts=None):
        works = [self._allgather_base(out, mine, opts) for out, mine in zip(outputs, inputs)]
        return Work.of_all(self, works, outputs)

    def reduce_scatter(self, outputs, inputs, opts=None, *more):
        if isinstance(outputs, torch.Tensor):
            outputs, inputs = [outputs], [inputs]
        opts = opts_of(ReduceScatterOptions, opts)
        works = []
        for out, ins in zip(outputs, inputs):
            reduction = self.reduction(opts, out)
            if len({one.numel() for one in ins}) > 1:
                works.append(self.reduce_scatter_uneven(out, ins, opts))
            else:
                ins, count = premultiplied(ins, opts), out.numel()
                works.append(self.post(REDUCE_SCATTER, ins, [out], outputs, opts, reduction=reduction, count=count))
        return works[0] if len(works) == 1 else Work.of_all(self, works, outputs)

    def reduce_scatter_uneven(self, out, ins, opts):
        """As torch does over NCCL: one reduction to each member."""
        works = []
        for root, one in enumerate(ins):
            tensor = one.clone()
            options = rooted(ReduceOptions, root)
            options.reduceOp = opts.reduceOp
            works.append(self.reduce([tensor], options))
            if root == self.place:
                works[-1].after = lambda tensor=tensor: copy_tensor(tensor, out)
        return Work.of_all(self, works, [out])

    def _reduce_scatter_base(self, output, tensor, opts=None):
        opts = opts_of(ReduceScatterOptions, opts)
        nccl_checks.reduce_scatter_base(output, tensor, self.count)
        reduction = self.reduction(opts, tensor)
        ins, count = premultiplied([tensor], opts), output.numel()
        return self.post(REDUCE_SCATTER, ins, [output], [output], opts, reduction=reduction, count=count)

    reduce_scatter_single = _reduce_scatter_base

    def reduce_scatter_tensor_coalesced(self, outputs, inputs, opts=None):
        works = [self._reduce_scatter_base(out, mine, opts) for out, mine in zip(outputs, inputs)]
        return Work.of_all(self, works, outputs)

    def alltoall_base(self, output, tensor, output_splits=None, input_splits=None, opts=None):
        input_splits, output_splits = integers(input_splits), integers(output_splits)
        given, taken = self.pieces(tensor, input_splits), self.pieces(output, output_splits)
        even = not input_splits and not output_splits
        return self.post(
            ALL_TO_ALL,
            [tensor],
            [output],
            [output],
            opts,
            count=tensor.numel() // self.count if even else tensor.numel(),
            pieces=list(zip(given, taken)),
        )

    all_to_all_single = alltoall_base

    def pieces(self, tensor, splits):
        """Bytes of the piece for or from each member. Rows of the first dimension are what is split."""
        if not splits:
            if tensor.shape and tensor.shape[0] % self.count:
                raise RuntimeError("Tensor's dim 0 does not divide equally across group size")
            return [bytes_of(tensor) // self.count] * self.count
        if len(splits) != self.count:
            raise RuntimeError("Number of tensor splits not equal to group size")
        if sum(splits) != tensor.shape[0]:
            raise RuntimeError("Split sizes doesn't match total dim 0 size")
        row = bytes_of(tensor) // tensor.shape[0] if tensor.shape[0] else 0
        return [rows * row for rows in splits]

    def alltoall(self, outputs, inputs, opts=None):
        if not self.is_gloos(outputs):
            nccl_checks.alltoall(outputs, inputs)
        sizes = {tensor.numel() for tensor in (*inputs, *outputs)}
        return self.post(
            ALL_TO_ALL,
            inputs,
            outputs,
            outputs,
            opts,
            count=inputs[0].numel() if len(sizes) == 1 else sum(tensor.numel() for tensor in inputs),
            pieces=list(zip(map(bytes_of, inputs), map(bytes_of, outputs))),
        )

    def gather(self, outputs, inputs, opts=None, *more, root=None):
        if isinstance(inputs, torch.Tensor):
            inputs, outputs = [inputs], [outputs] if outputs else []
        opts = rooted(GatherOptions, opts, *more, root=root)
        if self.is_gloos(inputs):
            gloo_checks.gather(outputs, inputs, opts.rootRank, self.place, self.count)
        else:
            nccl_checks.gather(outputs, inputs, opts.rootRank, self.place, self.count)
        outs = outputs[0] if self.place == opts.rootRank else []
        result = outs if self.is_gloos(inputs) else outputs  # gloo's future has one list, NCCL's a list of lists
        return self.post(GATHER, inputs, outs, result, opts, root=opts.rootRank)

    def scatter(self, outputs, inputs, opts=None, *more, root=None):
        if isinstance(outputs, torch.Tensor):
            outputs, inputs = [outputs], [inputs] if inputs else []
        opts = rooted(ScatterOptions, opts, *more, root=root)
        if self.is_gloos(outputs):
            gloo_checks.scatter(outputs, inputs, opts.rootRank, self.place, self.count)
        else:
            nccl_checks.scatter(outputs, inputs, opts.rootRank, self.place, self.count)
        ins = inputs[0] if self.place == opts.rootRank else []
        return self.post(SCATTER, ins, outputs, outputs, opts, root=opts.rootRank, count=outputs[0].numel())

    def barrier(self, opts=None, timeout=None):
        opts = opts if isinstance(opts, BarrierOptions) else None
        device = self.barrier_device(opts)
        if device is not None:
            self.default.comm(device=device)
        return self.post(BARRIER, [], [], None, opts, count=0)

    def barrier_device(self, opts):
        """The device that ProcessGroupNCCL takes: that of `device_ids`, else the one that the group is bound to, else the
        rank modulo the number of devices."""
        if self.default.library != "nccl" or not hasattr(here.channel, "devices") or self.default.comms:
            return None
        if getattr(opts, "device_ids", None):
            return opts.device_ids[0]
        if self.bound_device_id is not None:
            return self.bound_device_id.index
        return self.members[self.place] % torch.cuda.device_count()

    def monitored_barrier(self, timeout=None, wait_all_ranks=False):
        from .monitored_barrier import meet

        meet(self, timeout, wait_all_ranks)

    def yield_before_call(self):
        if here.orphan:
            refuse_child()
        if self.batch is None:
            here.turns.before_call()

    # Point to point

    def send(self, tensors, peer, tag=0):
        return self.message(True, listed(tensors)[0], peer, tag)

    def recv(self, tensors, peer, tag=0):
        return self.message(False, listed(tensors)[0], peer, tag)

    def recv_anysource(self, tensors, tag=0):
        if self.library == "nccl":
            raise RuntimeError("ProcessGroupNCCL does not support recvAnysource")
        return self.message(False, listed(tensors)[0], ANY_SOURCE, tag)

    def message(self, is_send, tensor, peer, tag):
        self.yield_before_call()
        side = self.side([tensor])
        if side.library == "nccl" and self.batch is None and not side.eager:
            pair = tuple(sorted((self.place, peer)))
            comm, place = side.comm(pair, [tensor]), pair.index(peer)
        else:
            comm, place = side.comm(tensors=[tensor]), peer
        if self.batch is not None and self.batch_comm is None:
            self.batch_comm = comm
            here.channel.post(wire.GROUP_START, wire.GROUP.pack(comm))
        work = Work(self, side.library, "send" if is_send else "recv", [tensor], self.limit)
        work.peer = peer
        work.on_stream([tensor])
        name = "recvAnySource" if peer == ANY_SOURCE else "send" if is_send else "recv"
        work.profile(name, [tensor], [tensor])
        size = bytes_of(tensor)
        offset = work.take(here.channel.arena, size)
        if is_send:
            copy_in(tensor, offset)
        else:
            work.back.append((offset, tensor))
        body = wire.MESSAGE_BODY.pack(
            work.begin(comm), comm, is_send, dtype_of(tensor), 0, 0, place, tag, offset, size
        )
        here.channel.call(wire.MESSAGE, body)
        if self.batch is not None:
            self.batch.append(work)
        return work


dispatcher.show_calls(ProcessGroup)
graphs.keep_calls(ProcessGroup)


class Options:
    """What a program reads of a group's options, and what torch copies for a group that is split off."""

    is_high_priority_stream = False
    split_from, split_color = None, 0

    def __init__(self, library, timeout, members, name):
        self.backend, self._timeout = library, timeout
        self.global_ranks_in_group, self.group_name = list(members), name


def current_device():
    """ProcessGroupNCCL asks in C++, which leaves `torch.cuda.is_initialized()` False. DeviceMesh then sets the device."""
    return torch.cuda.current_device() if torch.cuda.is_initialized() else 0


def shape(tensor):
    return f"({', '.join(map(str, tensor.shape))})"


def listed(tensors):
    return [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)


def integers(numbers):
    """torch's C++ takes any sequence of integers as a vector. Megatron-core passes arrays of numpy."""
    return [] if numbers is None else [int(one) for one in numbers]


def opts_of(kind, opts):
    """torch's overloads take an operation in place of the options."""
    if opts is None:
        return kind()
    if hasattr(opts, "timeout"):
        return opts
    made = kind()
    made.reduceOp = opts
    return made


def rooted(kind, opts, *more, root=None, op=None):
    if hasattr(opts, "rootRank"):
        return opts
    made = kind()
    made.rootRank = int(root if root is not None else opts or 0)
    if hasattr(made, "reduceOp") and (more or op is not None):
        made.reduceOp = more[0] if more else op
    return made


def premultiplied(tensors, options):
    """What each rank gives to a sum with a factor of its own, which FSDP divides gradients by."""
    op = options.reduceOp if hasattr(options, "reduceOp") else options
    if op != PREMUL_SUM:
        return tensors
    factor = op.__getstate__()[1]
    return [(tensor.detach() * factor).to(tensor.dtype) for tensor in tensors]


def copy_tensor(source, target):
    with torch.no_grad():
        target.detach().copy_(source.detach().view(target.shape))
