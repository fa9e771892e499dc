# sim/managed/python/deadrank/frameworks.py — What frameworks do that stands still or compiles in a simulated rank, each
# with the reason. Applied when the framework is imported.
import importlib.machinery
import sys


def deepspeed_comm_torch(module):
    """0.19: compiles an extension for shared memory between CPU ranks, and waits for another rank's compiler by a
    lock file."""
    module.build_shm_op = lambda: None


CHANGES = {"deepspeed.comm.torch": deepspeed_comm_torch}


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
