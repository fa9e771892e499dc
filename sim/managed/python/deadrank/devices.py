# sim/managed/python/deadrank/devices.py — Simulated GPUs in a rank: torch's cuda tensors on the stand-in, whose streams
# have virtual time (inject/standin/device/virtual_time.h). The host's clock is the library's; the rank's messages
# carry what it has moved since the last one.
import ctypes
import sys

import torch

from . import channel as wire
from . import graphs
from .channel import Channel, here


TAKE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int64)
GIVE_BACK = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_int64)
LEFT = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int)


class Keeper(ctypes.Structure):
    """inject/standin/device/memory_keeper.h: the simulator knows what all ranks hold on a device."""

    _fields_ = (("take", TAKE), ("give_back", GIVE_BACK), ("left", LEFT))


def take(device, size):
    return 0 if request_device("take", device=device, bytes=size).get("room", True) else 1


def give_back(device, size):
    request_device("give_back", device=device, bytes=size)


def left(device):
    return request_device("left", device=device).get("bytes", -1)


def request_device(op, **said):
    channel = here.channel
    return {} if channel is None or channel.closing else channel.ask(wire.DEVICE, op=op, **said)


class Devices:
    def __init__(self, library):
        self.now = typed(library.deadrank_host_now, ctypes.c_int64)
        self.advance = typed(library.deadrank_host_advance, None, ctypes.c_int64)
        self.stream_wait_until = typed(
            library.deadrank_stream_wait_until, None, ctypes.c_void_p, ctypes.c_int64
        )
        self.stream_synchronize = typed(library.deadrank_stream_synchronize, None, ctypes.c_void_p)
        self.captures_open = typed(library.deadrank_captures_open, ctypes.c_int)
        self.graph_add_call = typed(
            library.deadrank_graph_add_call, ctypes.c_int, ctypes.c_void_p, graphs.PLAY, graphs.PLAY, ctypes.c_void_p
        )
        self.keeper = Keeper(TAKE(take), GIVE_BACK(give_back), LEFT(left))
        library.deadrank_keep_memory(ctypes.byref(self.keeper))

    def stream(self, device):
        return torch._C._cuda_getCurrentRawStream(device.index if device.index is not None else 0)

    def ready(self, tensors):
        """A collective begins when its stream has come to it. The host waits for that, since it is the host's
        message that begins the call."""
        tensor = next((one for one in tensors if one.is_cuda), None)
        if tensor is not None:
            self.stream_synchronize(self.stream(tensor.device))

    def wait_until(self, device, at):
        self.stream_wait_until(self.stream(device), at)


def typed(function, answer, *arguments):
    function.restype, function.argtypes = answer, arguments
    return function


def find():
    """None if the stand-in is not in this process, or its time is the machine's."""
    if "torch" not in sys.modules:
        return None
    library = ctypes.CDLL(None)
    try:
        use = library.deadrank_use_virtual_time
    except AttributeError:
        return None
    return Devices(library) if use(None) == 0 else None


def run_backward_here():
    """Autograd has a thread for each device. It computes in the thread that calls backward() instead, so that a
    rank stays one thread, in whose order everything happens."""
    sys.modules["torch"]._C._set_multithreading_enabled(False)


class DeviceChannel(Channel):
    """`now` is the simulator's time. The host's clock may be behind it: a stream waits for a call, and the host
    goes on meanwhile."""

    def __init__(self, channel, arena, devices):
        super().__init__(channel, arena)
        self.devices = devices
        self.behind = False  # the reply that comes is for a stream, not for the host

    def time(self):
        return max(self.now, self.devices.now())

    def clock(self):
        return self.devices.now()

    def take_charge(self):
        charge = max(0, self.devices.now() - self.now)
        self.now += charge
        return charge

    def arrive(self, now):
        self.now = now
        late = now - self.devices.now()
        if late > 0 and not self.behind:
            self.devices.advance(late)

    def wait_on_stream(self, device, wait):
        """Does what `wait` does; the stream that is current waits for its end, not the host."""
        self.behind = True
        try:
            return wait()
        finally:
            self.behind = False
            self.devices.wait_until(device, self.now)
