# sim/managed/python/deadrank/works.py — The handle of a call that the simulator plays. The program waits for it in
# Python; torch's reducer waits for its future in C++, where nobody can be asked, so the future is made ready at
# the last moment before.
import datetime
import os
from collections import deque

import torch
import torch.distributed as dist

from .channel import COMM_CLOSE, NEVER, here

Base = getattr(dist, "_Work", None) or torch._C._distributed_c10d.Work

GRACE = 1_000_000  # ns
IN_TRACES = {"all_reduce": "allreduce"}  # calls whose name in execution traces is another one
under_way = set()  # a program may drop the handle of a call
KEEPS_NONE = tuple(int(one) for one in torch.__version__.split(".")[:2]) < (2, 5)  # C++ keeps no Python work alive
recent = deque(maxlen=512 if KEEPS_NONE else 0)  # it may ask one that is done for its future
eager = []  # not empty while a communication hook in Python runs, which may wait at once


class Work(Base):
    def __init__(self, group, library, op, result, limit):
        super().__init__()
        self.group, self.library, self.op = group, library, op
        self.answer, self.limit = result, limit
        self.numbers, self.blocks, self.back, self.parts = [], [], [], ()
        self.sources, self.trouble, self.done = [], None, False
        self.future = None
        self.after = None
        self.bend = None  # what a mutation does to the result
        self.stacked = None  # tensors that are one in the future's value, as NCCL gathers into one
        self.records = ()
        self.peer, self.comm = -1, None
        self.begun = here.channel.time() if here.channel is not None else 0
        self.device = None  # of CUDA, whose stream waits instead of the host

    @classmethod
    def of_all(cls, group, works, result=None):
        """One handle of several calls."""
        library = works[0].library if works else group.library
        work = cls(group, library, "coalesced", result, group.limit)
        work.parts = [one for one in works if not one.done]
        work.device = next((one.device for one in work.parts if one.device is not None), None)
        work.numbers = [number for one in work.parts for number in one.numbers]
        if work.numbers:
            under_way.add(work)
        else:
            work.done = True
        return work

    def begin(self, comm):
        self.comm = comm
        number = here.channel.new_work()
        self.numbers.append(number)
        under_way.add(self)
        return number

    def on_stream(self, tensors):
        """Of a library that works on CUDA streams: the call begins when the stream has come to it."""
        devices = getattr(here.channel, "devices", None)
        if devices is not None and self.library == "nccl":
            self.device = next((one.device for one in tensors if one.is_cuda), None)
            devices.ready(tensors)

    def take(self, arena, size):
        offset = arena.allocate(size)
        self.blocks.append((offset, size))
        return offset

    @staticmethod
    def record(name, tensors):
        from .profiles import begin

        return begin(name, tensors)

    def profile(self, name, ins, outs):
        if torch.autograd._profiler_enabled():
            self.records = (self.record(f"{self.library}:{name}", ins or outs),)
            if self.device is not None:
                from .profiles import record_communication

                record_communication(self.group, IN_TRACES.get(name, name), ins, outs)

    # The end of it

    def finish(self, limit=None):
        """Waits until the call is done and delivers what it brought. `limit`: ns, of this wait alone."""
        if self.trouble is not None:
            raise self.trouble
        if self.done:
            return
        deadline = self.deadline(limit)
        self.finish_earlier()

        def wait():
            return here.turns.wait_for_works(self.numbers, deadline)

        try:
            if self.device is None or deadline != NEVER:
                sources = wait()
            else:
                sources = here.channel.wait_on_stream(self.device, wait)
        except Exception as trouble:
            self.fail(trouble)
            raise
        if sources is None:
            trouble = self.timed_out(limit or self.limit)
            if self.library == "nccl":  # as torch does before it raises
                self.abort_comms()
            self.fail(trouble)
            raise trouble
        self.deliver(sources)

    def finish_earlier(self):
        """Calls of one NCCL communicator end in their order, and gloo's barrier waits for all of them. A program may
        wait for the last one alone."""
        if self.comm is None or (self.library != "nccl" and self.op != "barrier"):
            return
        earlier = [one for one in under_way if one.comm == self.comm and one.numbers < self.numbers]
        for work in sorted(earlier, key=lambda one: one.numbers):
            try:
                work.finish()
            except Exception:  # kept for its own `wait`
                pass

    def abort_comms(self):
        for comm in sorted({one.comm for one in (self, *self.parts) if one.comm is not None}):
            here.channel.ask(COMM_CLOSE, comm=comm, how="abort")

    def deadline(self, limit):
        """The program's limit of this wait. A call over gloo ends by its group's time-out as well, unless the
        simulator ends it first; NCCL has a watchdog instead."""
        now = here.channel.time()
        if limit is not None:
            return now + limit
        if self.library == "gloo":
            return self.begun + self.limit + GRACE
        return now + self.limit if blocking_wait() else NEVER

    def deliver(self, sources):
        from .process_group import copy_out

        for part in self.parts:
            if not part.done:
                mine, sources = sources[: len(part.numbers)], sources[len(part.numbers) :]
                part.deliver(mine)
        self.sources = sources or [part.sources[0] for part in self.parts if part.sources]
        for offset, tensor in self.back:
            copy_out(offset, tensor)
        if self.bend is not None:
            self.bend()
        if self.after is not None:
            self.after()
        self.end()
        if self.future is not None and not self.future.done():
            self.future.set_result(self.value())
        recent.append(self)

    def fail(self, trouble):
        self.trouble = trouble
        self.blocks = []  # the simulator may still write there
        for part in self.parts:
            part.fail(trouble)
        self.end()

    def end(self):
        self.done = True
        under_way.discard(self)
        arena = here.channel.arena
        for block in self.blocks:
            arena.release(*block)
        self.blocks, self.back, self.after, self.bend = [], [], None, None
        for record in self.records:
            record.end()
        self.records = ()

    def timed_out(self, limit):
        milliseconds = limit // 1_000_000
        if self.library == "gloo":
            what = "send" if self.op == "send" else "recv"
            return RuntimeError(
                "[/pytorch/third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting "
                f"{milliseconds}ms for {what} operation to complete"
            )
        return dist.DistBackendError(
            f"[Rank {self.group.place}] Watchdog caught collective operation timeout: "
            f"WorkNCCL(SeqNum={self.group.sequence}, Timeout(ms)={milliseconds}) ran for {milliseconds} "
            "milliseconds before timing out."
        )

    # What torch and the program ask

    def wait(self, timeout=None):
        if self.device is not None and torch.autograd._profiler_enabled():
            from .profiles import record_communication

            record_communication(self.group, "wait", [], [])
        self.finish(limit_from(timeout))
        return True

    def synchronize(self):
        self.finish()

    def block_current_stream(self):
        self.finish()

    def is_completed(self):
        if self.done:
            return True
        if not here.turns.poll(self.numbers):
            return False
        try:
            self.finish()
        except Exception:  # kept for `exception` and `wait`
            pass
        return True

    def is_success(self):
        return self.done and self.trouble is None

    def exception(self):
        return self.trouble

    def source_rank(self):
        return self.sources[0] if self.sources else self.peer

    _source_rank = source_rank

    def result(self):
        return self.answer

    def value(self):
        """Of the future."""
        return self.answer if self.stacked is None else [torch.stack(list(self.stacked))]

    def get_future(self):
        if self.future is not None:
            return self.future
        self.future = LazyFuture(self)
        if self.done:
            self.future.set_result(self.value())
        elif torch._C._current_autograd_node() is not None and not eager:
            # In a backward: the reducer waits after the engine's callbacks, and this one comes before its own.
            torch.autograd.Variable._execution_engine.queue_callback(self.finish)
        else:
            self.finish()
        return self.future

    getFuture = get_future


class LazyFuture(torch.futures.Future):
    def __init__(self, work):
        if work.device is None:
            super().__init__()
        else:
            super().__init__(devices=[work.device])
        self.__dict__["work"] = work

    def wait(self):
        self.work.finish()
        return super().wait()


def limit_from(timeout):
    """ns of a wait; torch's own default is zero: no limit."""
    if timeout is None:
        return None
    if isinstance(timeout, datetime.timedelta):
        limit = timeout // datetime.timedelta(microseconds=1) * 1000
    else:
        limit = int(timeout * 1e6)
    return limit if limit > 0 else None


def finished(group, result):
    return Work.of_all(group, [], result)


def blocking_wait():
    value = os.environ.get("TORCH_NCCL_BLOCKING_WAIT", os.environ.get("NCCL_BLOCKING_WAIT", "0"))
    return value.lower() in ("1", "true", "y", "yes")
