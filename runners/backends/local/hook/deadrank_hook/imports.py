# runners/backends/local/hook/deadrank_hook/imports.py — Calls back once a module has been imported, without
# importing it.
import sys

waiting = {}


class Finder:
    """Asks the other finders for the module, and adds our call to the end of its execution."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name not in waiting:
            return None
        spec = None
        for finder in list(sys.meta_path):  # one of them may add a call of its own: inject/standin/operators
            if finder is not Finder and spec is None:
                spec = finder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def execute_then_call(module):
            execute(module)
            for call in waiting.pop(name, ()):
                call()

        spec.loader.exec_module = execute_then_call
        return spec


def after(name, call):
    if name in sys.modules:
        call()
        return
    if Finder not in sys.meta_path:
        sys.meta_path.insert(0, Finder)
    waiting.setdefault(name, []).append(call)
