# runners/backends/local/hook/deadrank_hook/observed.py — Collectives and point-to-point calls of a program
# that is only watched. Nothing is altered, so that a call is two lines, which calls that look alike share but
# for their time and number.
import ctypes
import threading
import time

from .calls import DTYPES, name_of_op, parameters_of
from .evidence import code_of
from .groups import inside
from .later import graphs

KINDS = 4096  # that are remembered


class Kind:
    """What calls that look alike have in common."""

    def __init__(self, evidence, comm, pair, op, count, root, reduce, dtype, tag):
        self.comm, self.pair = comm, pair
        told = {"comm": comm.number, "count": count, "op": op, "dtype": dtype}
        told |= {"peer": root, "tag": tag} if pair else {"root": root, "reduce": reduce}
        self.enters = evidence.form("p2p.enter" if pair else "collective.enter", "seq", **told)
        self.left = {"comm": comm.number, "op": op}
        self.left |= {"peer": root} if pair else {}
        self.kind = "p2p.leave" if pair else "collective.leave"
        self.leaves = evidence.form(self.kind, "seq", result="ok", **self.left)


class Issued:
    """A call under way."""

    __slots__ = ("observer", "kind", "number")

    def __init__(self, observer, kind, number):
        self.observer, self.kind, self.number = observer, kind, number

    def landed(self, future):
        self.observer.landed(self, future)


class Arguments:
    """Where a function of torch.distributed has the arguments that are recorded."""

    def __init__(self, real, shape):
        self.op, counted, directed = shape
        names, usual = parameters_of(real)
        self.most = len(names)
        wanted = (counted, "group", "op", directed, directed and f"group_{directed}", "async_op", "tag")
        places = [(names.index(name) if name in names else 99, name) for name in wanted]
        self.places = [(place, name, usual.get(name)) for place, name in places]

    def read(self, args, settings):
        """In the order of `wanted`."""
        given = len(args)
        return [args[place] if place < given else settings.get(name, usual)
                for place, name, usual in self.places]  # fmt: skip


class Observer:
    def __init__(self, hook):
        self.hook, self.put = hook, hook.evidence.put
        self.kinds = {}
        self.words = words_by_hash()
        self.stays = {threading.get_ident()}
        self.pending = hook.calls.pending

    def watched(self, real, shape, pair):
        """A function of torch.distributed."""
        stranger, arguments = self.hook.calls.stranger, Arguments(real, shape)

        def call(*args, **settings):
            if inside.call or graphs.recording or settings.get("group") is stranger:
                return real(*args, **settings)
            issued = self.begin(self.called, arguments, pair, args, settings)
            if issued is None:
                return real(*args, **settings)
            work = self.through(issued, real, args, settings)
            # recv returns the sender; isend and irecv always return work.
            self.issued(issued, work, pair or arguments.read(args, settings)[5])
            return work

        return call

    def below(self, real, row):
        """A method of a process group, which C++ calls with positional arguments alone."""
        op, counted, directed, names = row
        most, pair = len(names), op in ("send", "recv")
        wanted = (counted, "options", directed, "tag")
        places = [names.index(name) if name in names else 99 for name in wanted]

        def call(group, *args, **settings):
            inner = group.inner  # `inside`: seen in torch.distributed already
            if inside.call or graphs.recording or settings or len(args) > most:
                return real(inner, *args, **settings)
            issued = self.begin(self.called_below, (op, directed, places), pair, group, args)
            if issued is None:
                return real(inner, *args)
            work = self.through(issued, real, (inner, *args), {})
            self.issued(issued, work, True)
            return work

        return call

    # --- one call
    def begin(self, read, arguments, pair, *given):
        """The call as its line says it begins."""
        kind = read(arguments, pair, *given)
        training, comm, now = self.hook.training, kind.comm, time.time_ns()
        if training.open and not training.current and not training.stepped:
            training.change("reduce")
        if pair:
            comm.pairs = number = comm.pairs + 1
        else:
            comm.calls = number = comm.calls + 1
        self.put(kind.enters % (now, number))
        issued = Issued(self, kind, number)
        self.pending[issued] = now
        return issued

    def through(self, issued, real, args, settings):
        inside.call = True
        try:
            return real(*args, **settings)
        except Exception as trouble:
            self.failed(issued, trouble)
            raise
        finally:
            inside.call = False

    def issued(self, issued, work, asynchronous):
        if asynchronous and hasattr(work, "get_future"):
            try:
                work.get_future().add_done_callback(issued.landed)
                return
            except RuntimeError:  # work without a future counts as done once issued
                pass
        self.leaves(issued)

    def landed(self, issued, future):
        """In a thread of the library's own, as a rule."""
        if threading.get_ident() not in self.stays:
            self.stays.add(threading.get_ident())
            keep_thread_state()
        try:
            future.value()
        except Exception as trouble:
            self.failed(issued, trouble)
        else:
            self.leaves(issued)

    def leaves(self, issued):
        self.pending.pop(issued, None)
        self.put(issued.kind.leaves % (time.time_ns(), issued.number))

    def failed(self, issued, trouble):
        self.pending.pop(issued, None)
        kind, code, write = issued.kind, code_of(trouble), self.hook.evidence.write
        write(kind.kind, seq=issued.number, result=code, **kind.left)
        write("comm.error", comm=kind.comm.number, code=code, message=str(trouble)[:400])
        self.hook.flight.dump()

    # --- what it looks like
    def called(self, arguments, pair, args, settings):
        many, group, op, root, inner, _, tag = arguments.read(args, settings)
        comm = self.hook.communicators.of(group)
        root = inner if inner is not None else -1 if root is None else rank_in(group, root)
        return self.kind(comm, pair, arguments.op, many, root, op, tag or 0)

    def called_below(self, shape, pair, group, args):
        op, directed, (counted, options, peer, tag) = shape
        given = len(args)
        options = args[options] if options < given else None
        root = getattr(options, "rootRank", -1) if directed == "root" else args[peer] if peer < given else -1
        reduce = getattr(options, "reduceOp", None)
        many = args[counted] if counted < given else None
        return self.kind(self.hook.communicators.of(group), pair, op, many, root, reduce,
                         args[tag] if tag < given else 0)  # fmt: skip

    def kind(self, comm, pair, op, many, root, reduce, tag):
        one, count = many, 0
        if isinstance(many, (list, tuple)):
            one = many[0] if many else None
            for tensor in many:
                count += tensor.numel()
        elif many is not None:
            count = many.numel()
        word = "none" if reduce is None else self.words.get(hash(reduce)) or name_of_op(reduce)
        replicas = self.hook.replicas
        if replicas.learns and word in ("sum", "avg") and op == "all_reduce":
            replicas.averages(many, comm)
        dtype = None if one is None else one.dtype
        key = (comm, op, count, dtype, root, word, tag, pair)
        found = self.kinds.get(key)
        if found is None:
            if len(self.kinds) >= KINDS:
                self.kinds.clear()
            dtype = DTYPES.get(str(dtype), "none")
            found = self.kinds[key] = Kind(self.hook.evidence, comm, pair, op, count, root, word, dtype, tag)
        return found


def words_by_hash():
    """Comparing two of torch's reductions takes longer than all else in a call; their hashes are numbers."""
    import torch.distributed as dist

    members = getattr(getattr(dist.ReduceOp, "RedOpType", None), "__members__", {})
    return {hash(one): name_of_op(one) for one in members.values()}


def keep_thread_state():
    """Python's state of a thread that C++ made ends with each call into Python, and is made anew for the
    next, with pages of memory of its own. One that is acquired once more stays."""
    ctypes.pythonapi.PyGILState_Ensure()


def rank_in(group, root):
    import torch.distributed as dist

    return root if group is None or not hasattr(dist, "get_group_rank") else dist.get_group_rank(group, root)
