# sim/managed/python/deadrank/frameworks.py — What frameworks do that stands still or compiles in a simulated rank, each
# with the reason. Applied when the framework is imported.
import functools
import importlib.machinery
import sys

from . import subprocesses
from .channel import NotSimulated, here


def deepspeed_comm_torch(module):
    """0.19: compiles an extension for shared memory between CPU ranks, and waits for another rank's compiler by a
    lock file."""
    module.build_shm_op = lambda: None


def torch_rpc(module):
    """2.4 to 2.15: TensorPipe opens sockets and starts threads that the simulator does not see. A rank that waits for
    a message of theirs would look deadlocked."""
    real = getattr(module, "init_rpc", None)
    if real is None:  # torch without RPC
        return

    @functools.wraps(real)
    def init_rpc(*args, **said):
        if here.channel is None:
            return real(*args, **said)
        raise NotSimulated(
            "deadrank: torch.distributed.rpc is not simulated: its messages take sockets that the simulator cannot "
            "see. Run this program on real processes."
        )

    module.init_rpc = init_rpc


def tqdm_std(module):
    """4: a bar starts a thread that looks for bars which stand still, and a rank with two threads cannot be copied."""
    module.tqdm.monitor_interval = 0


CHANGES = {
    "tqdm.std": tqdm_std,
    "deepspeed.comm.torch": deepspeed_comm_torch,
    "torch.distributed.rpc": torch_rpc,
    "multiprocess.connection": subprocesses.install_pipes,  # 0.70: multiprocessing that pickles more
    "multiprocess.synchronize": subprocesses.install_semaphores,
}


class Finder:
    """Lets the other finders find the module, and changes it after its execution."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        change = CHANGES.get(name)
        if change is None:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            change(module)

        spec.loader.exec_module = exec_module
        return spec


def install():
    sys.meta_path.insert(0, Finder)
