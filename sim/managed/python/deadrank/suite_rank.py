# sim/managed/python/deadrank/suite_rank.py — One rank of one test of somebody's suite: what their parent process does
# for a rank is done here, and the rank's part runs unmodified. Takes the request of drop_in.py as a file; the rank
# says its result in a line of its log: nothing, a traceback, or "skip: why".
import base64
import importlib
import importlib.util
import json
import multiprocessing
import os
import pickle
import sys
import traceback
import unittest

from deadrank import mutate
from deadrank.drop_in import innermost

LAUNCHERS = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "NODE_RANK", "MASTER_ADDR",
             "MASTER_PORT")


def main(file):
    with open(file, encoding="utf-8") as text:
        request = json.load(text)
    rank, rendezvous = int(os.environ["RANK"]), os.path.join(os.path.dirname(file), "rendezvous")
    sys.path[1:1] = [one for one in request["path"] if one not in sys.path]
    sys.argv = [request["file"]]
    mutate.begin(request, rank)
    forget_launcher(request)
    try:
        if request["style"] == "function":
            run_function(request, rank)
        elif request["style"] == "continuous":
            cls = class_of(request)
            cls._worker_loop(rank, request["ranks"], rendezvous, Tasks(request["test"]), Completions())
        else:
            run_spawned(class_of(request), request, rank, rendezvous)
    finally:
        mutate.report_files()


def class_of(request):
    cls = find_class(load_module(request), request["class"])
    method = getattr(cls, request["method"], None)
    if method is not None:
        mutate.add_file_of(method)
    return cls


def forget_launcher(request):
    """A process that a test starts has the environment of the test."""
    for name in LAUNCHERS:
        if name in request["environment"]:
            os.environ[name] = request["environment"][name]
        else:
            os.environ.pop(name, None)


def run_function(request, rank):
    """What mp.spawn does in a process that it has started."""
    module = load_module(request)
    if request["module"] == "__main__":
        sys.modules["__main__"] = module
    fn, args = pickle.loads(base64.b64decode(request["options"]["pickled"]))
    mutate.add_file_of(innermost(fn))
    try:
        fn(rank, *args)
    except Exception:
        text = traceback.format_exc()
        print(text, file=sys.stderr, flush=True)
        leave(text)
        raise SystemExit(1) from None
    leave("")


def run_spawned(cls, request, rank, rendezvous):
    theirs, ours = multiprocessing.Pipe()
    try:
        cls._run(rank, request["method"], rendezvous, ours, **request["options"])
    finally:
        try:
            if theirs.poll():
                leave(theirs.recv())
        except EOFError:  # it had nothing to say, and closed its end
            pass


def load_module(request):
    if request["module"] != "__main__":
        return importlib.import_module(request["module"])
    # As multiprocessing does with the parent's main module.
    spec = importlib.util.spec_from_file_location("__mp_main__", request["file"])
    module = importlib.util.module_from_spec(spec)
    sys.modules["__mp_main__"] = module
    spec.loader.exec_module(module)
    return module


def find_class(module, name):
    found = module
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is None:  # generated classes carry the name of the function that made them
        last = name.rsplit(".", 1)[-1]
        found = next(one for one in vars(module).values() if isinstance(one, type) and one.__name__ == last)
    return found


class Tasks:
    def __init__(self, test):
        self.left = [None, test]

    def get(self):
        return self.left.pop()


class Completions:
    def put(self, result):
        if isinstance(result, unittest.SkipTest):
            leave(f"skip: {result}")
        else:
            leave(str(result) if isinstance(result, BaseException) else "")


def leave(text):
    mutate.tell(result=text if isinstance(text, str) else repr(text))


if __name__ == "__main__":
    main(sys.argv[1])
