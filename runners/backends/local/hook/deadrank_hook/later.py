# runners/backends/local/hook/deadrank_hook/later.py — What a device still computes, copied without waiting
# for it: the host goes on giving it work, and reads the copy once it is there.
import functools
import hashlib
import os


class Copy:
    def __init__(self, tensor):
        import torch

        self.event = None
        if tensor.device.type != "cuda":
            self.host = tensor.cpu()
            return
        self.host = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
        self.host.copy_(tensor, non_blocking=True)
        self.event = torch.cuda.Event()
        self.event.record(torch.cuda.current_stream(tensor.device))

    def there(self):
        return self.event is None or self.event.query()

    def wait(self):
        if self.event is not None:
            self.event.synchronize()
        return self.host


class Digest:
    """Of some tensors, as bytes."""

    def __init__(self, tensors):
        import torch

        self.copies = [Copy(one.reshape(-1).view(torch.uint8)) for one in tensors]

    def there(self):
        return all(one.there() for one in self.copies)

    def value(self):
        state = hashlib.blake2b(digest_size=8)
        for one in self.copies:
            state.update(one.wait().numpy().tobytes())
        return int.from_bytes(state.digest(), "little")


class Graphs:
    """While a CUDA graph is recorded, a call of CUDA on our side would end the recording, whatever thread it
    is in. What the program does meanwhile is not done yet: it is no step, and no call to wait for."""

    recording = 0

    def watch(self):
        import torch

        kind = getattr(torch.cuda, "CUDAGraph", None)
        if not hasattr(kind, "capture_begin"):
            return
        begin, end = kind.capture_begin, kind.capture_end

        @functools.wraps(begin)
        def capture_begin(graph, *args, **settings):
            self.recording += 1
            try:
                return begin(graph, *args, **settings)
            except BaseException:
                self.recording -= 1
                raise

        @functools.wraps(end)
        def capture_end(graph):
            try:
                return end(graph)
            finally:
                self.recording -= 1

        kind.capture_begin, kind.capture_end = capture_begin, capture_end


graphs = Graphs()


def cuda_is_there():
    """Asks the driver's library and not CUDA: a process that has asked that one can no longer fork children
    that use it."""
    import torch

    name = "PYTORCH_NVML_BASED_CUDA_CHECK"
    before = os.environ.get(name)
    os.environ[name] = "1"
    try:
        return torch.cuda.is_available()
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
