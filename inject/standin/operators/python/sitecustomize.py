# inject/standin/operators/python/sitecustomize.py — Python imports this at every start if its directory is
# on PYTHONPATH. It waits for `import torch`, and then gives cuda tensors operators that compute on the
# host. It does nothing in a process without the stand-in, so a real GPU is never touched.
import importlib.machinery
import importlib.util
import os
import sys


class AfterTorch:
    """Loads the operators when torch has been imported, before the program's next line. A program may look
    for torch without importing it, so this stays until torch is imported."""

    looking = False

    def find_spec(self, name, path=None, target=None):
        if name != "torch" or self.looking:
            return None
        self.looking = True
        try:
            others = [finder for finder in sys.meta_path if finder is not self]
            specs = (finder.find_spec(name, path, target) for finder in others)
            spec = next((one for one in specs if one is not None), None)
        finally:
            self.looking = False
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def exec_module(module):
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            execute(module)
            import deadrank_operators

            deadrank_operators.install()

        spec.loader.exec_module = exec_module
        return spec


def run_next_sitecustomize():
    """Only the first sitecustomize on the path is imported, so this one runs the one that it hides."""
    here = os.path.dirname(os.path.abspath(__file__))
    places = [os.path.abspath(one or ".") for one in sys.path]
    behind = sys.path[places.index(here) + 1 :] if here in places else []
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", behind)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


if os.environ.get("DEADRANK_OPERATORS") != "off":
    sys.meta_path.insert(0, AfterTorch())
run_next_sitecustomize()
