# sim/managed/python/deadrank/profiles.py — Records of calls for torch's profiler, as a process group in C++ makes
# them: with the shapes of their tensors, and asynchronous. The profiler takes a record for asynchronous if
# another thread ends it, so a future ends it, which a thread of its own sets.

import torch

from .threads import allocate_real, start_real


class Record:
    def __init__(self, handle):
        self.over = torch.futures.Future()
        torch.ops.profiler._call_end_callbacks_on_jit_fut._RecordFunction(handle, self.over)

    def end(self):
        done = allocate_real()
        done.acquire()

        def finish():
            self.over.set_result(None)
            done.release()

        start_real(finish, ())
        done.acquire()


def begin(name, tensors):
    """`_record_function_with_args_enter`: 2.4 to 2.15."""
    shown = [tensor for tensor in tensors if tensor.layout == torch.strided]
    return Record(torch._C._autograd._record_function_with_args_enter(name, *shown))


def record_communication(group, call, ins, outs):
    """`record_param_comms`, as torch's group over NCCL leaves it. Needs the operators of simulated GPUs."""
    record = getattr(torch.ops.deadrank, "record_communication", None)
    if record is None:
        return
    sent, received = (sum(tensor.numel() for tensor in part) for part in (ins, outs))
    first, stride = group.members[0], group.members[1] - group.members[0] if group.count > 1 else 1
    shown = [tensor for tensor in (*ins, *outs) if tensor.layout == torch.strided]
    dtype = shown[0].dtype if shown else torch.uint8
    record(call, group.title, group.description, group.place, group.count, sent, received, first, stride,
           group.sequence, dtype, list(ins), list(outs))
