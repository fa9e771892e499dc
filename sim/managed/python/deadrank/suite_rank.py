# sim/managed/python/deadrank/suite_rank.py — One rank of one test of somebody's suite: what their parent process does
# for a rank is done here, and the rank's part runs unmodified. Takes the request of drop_in.py as a file; the rank
# leaves its result beside it: nothing, a traceback, or "skip: why".
import importlib
import importlib.util
import json
import multiprocessing
import os
import sys
import unittest


def main(file):
    with open(file, encoding="utf-8") as text:
        request = json.load(text)
    place, rank = os.path.dirname(file), int(os.environ["RANK"])
    sys.path[1:1] = [one for one in request["path"] if one not in sys.path]
    sys.argv = [request["file"]]
    cls = find_class(load_module(request), request["class"])
    rendezvous = os.path.join(place, "rendezvous")
    if request["style"] == "continuous":
        cls._worker_loop(rank, request["ranks"], rendezvous, Tasks(request["test"]), Completions(place, rank))
    else:
        run_spawned(cls, request, place, rank, rendezvous)


def run_spawned(cls, request, place, rank, rendezvous):
    theirs, ours = multiprocessing.Pipe()
    try:
        cls._run(rank, request["method"], rendezvous, ours, **request["options"])
    finally:
        try:
            if theirs.poll():
                leave(place, rank, theirs.recv())
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
    def __init__(self, place, rank):
        self.place, self.rank = place, rank

    def put(self, result):
        if isinstance(result, unittest.SkipTest):
            leave(self.place, self.rank, f"skip: {result}")
        else:
            leave(self.place, self.rank, str(result) if isinstance(result, BaseException) else "")


def leave(place, rank, text):
    with open(os.path.join(place, f"result.{rank}"), "w", encoding="utf-8") as file:
        file.write(text if isinstance(text, str) else repr(text))


if __name__ == "__main__":
    main(sys.argv[1])
