# sim/managed/python/suite_hook/sitecustomize.py — Python imports this at every start while `deadrank test` runs.
# It waits for torch's test classes and for mp.spawn to be imported, and lets deadrank start their processes.
import importlib.machinery
import importlib.util
import os
import sys

CLASSES = "torch.testing._internal.common_distributed"
SPAWN = "torch.multiprocessing.spawn"


def run_next_sitecustomize():
    """Only the first sitecustomize on the path is imported, so this one runs the one that it hides."""
    here = os.path.dirname(os.path.abspath(__file__))
    places = [os.path.abspath(one or ".") for one in sys.path]
    behind = sys.path[places.index(here) + 1 :] if here in places else []
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", behind)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


class ImportHook:
    """After a module of torch is imported, deadrank takes over the start of its processes."""

    def __init__(self, module, take_over):
        self.module, self.take_over = module, take_over

    def find_spec(self, name, path=None, target=None):
        if name != self.module:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            from deadrank import drop_in

            getattr(drop_in, self.take_over)(module)

        spec.loader.exec_module = exec_module
        return spec


run_next_sitecustomize()
if "DEADRANK_SUITE" in os.environ:
    sys.meta_path[:0] = [ImportHook(CLASSES, "take_over"), ImportHook(SPAWN, "take_over_spawn")]
