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
