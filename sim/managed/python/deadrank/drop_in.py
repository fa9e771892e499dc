# sim/managed/python/deadrank/drop_in.py — In the process of a test runner under `deadrank test`: torch's test classes
# ask deadrank for their ranks instead of starting processes. Their own code does the rest, unmodified. Relied upon:
# MultiProcessTestCase._start_processes, _join_processes, processes, pid_to_pipe; MultiProcContinuousTest
# ._spawn_processes, task_queues, completion_queues.
import http.client
import json
import os
import sys
import unittest
from urllib.parse import urlsplit

FAILED = 10  # MultiProcessTestCase.TEST_ERROR_EXIT_CODE
SKIPPED = range(72, 90)  # exit codes of torch's TEST_SKIPS
OURS = ("DEADRANK_SUITE",)


def take_over(common):
    """`common`: torch.testing._internal.common_distributed."""
    common.MultiProcessTestCase._start_processes = start_processes
    continuous = getattr(common, "MultiProcContinuousTest", None)
    if continuous is not None:
        continuous._spawn_processes = classmethod(spawn_processes)


class Ended:
    """A process that has ended, as multiprocessing shows it."""

    def __init__(self, pid, exitcode):
        self.pid, self.exitcode = pid, exitcode

    def is_alive(self):
        return False

    def join(self, timeout=None):
        pass

    terminate = kill = close = join


class Error:
    """The parent's end of a pipe through which a rank sent its traceback."""

    closed = False

    def __init__(self, text):
        self.text = text

    def recv(self):
        return self.text

    def poll(self, timeout=0):
        return bool(self.text)

    def send(self, _):
        raise ConnectionError("the rank has ended")

    def close(self):
        self.closed = True


def start_processes(self, _process):
    """In place of MultiProcessTestCase._start_processes."""
    answer = ask(type(self), self._testMethodName, self.id(), int(self.world_size), "spawn",
                 {"fake_pg": getattr(self, "fake_pg", False)})
    show(answer)
    self.processes = []
    for rank, code in enumerate(answer["codes"]):
        text = answer["results"][rank]
        if code is None:  # it never ended: a real process would be killed by the test's time-out
            code, text = FAILED, f"rank {rank} waits for ever\n{answer['outputs'][rank]}"
        process = Ended(-1 - rank, code)
        self.processes.append(process)
        self.pid_to_pipe[process.pid] = Error(text or answer["outputs"][rank])


class Tasks:
    """The parent's end of a worker's queue of tests."""

    def __init__(self, cls, rank):
        self.cls, self.rank = cls, rank

    def put(self, test):
        if test is not None and self.rank == 0:
            self.cls._deadrank_test = test


class Completions:
    """What became of the test, by rank. The first one that is asked for plays it."""

    answer = None

    def __init__(self, cls, rank):
        self.cls, self.rank = cls, rank

    def get(self):
        if self.rank == 0:
            test = self.cls._deadrank_test
            method = test.rsplit(".", 1)[-1]
            Completions.answer = ask(self.cls, method, test, int(self.cls.world_size), "continuous", {})
            show(Completions.answer)
        answer, test = Completions.answer, self.cls._deadrank_test
        result = answer["results"][self.rank]
        if result == "":
            return test
        if result is not None and result.startswith("skip: "):
            return unittest.SkipTest(result[6:])
        return RuntimeError(result or f"rank {self.rank} ended with code {answer['codes'][self.rank]}\n"
                                      f"{answer['outputs'][self.rank]}")


def spawn_processes(cls, world_size):
    """In place of MultiProcContinuousTest._spawn_processes."""
    cls.processes = [Ended(-1 - rank, 0) for rank in range(int(world_size))]
    cls.task_queues = [Tasks(cls, rank) for rank in range(int(world_size))]
    cls.completion_queues = [Completions(cls, rank) for rank in range(int(world_size))]
    cls.rdvz_file = os.devnull + ".deadrank"


def ask(cls, method, test, ranks, style, options):
    """Has deadrank play the test. Returns codes (None: never ended), outputs and results, each by rank."""
    module = sys.modules[cls.__module__]
    request = {
        "python": sys.executable,
        "file": os.path.abspath(module.__file__),
        "module": cls.__module__,
        "class": cls.__qualname__,
        "method": method,
        "test": test,
        "ranks": ranks,
        "style": style,
        "options": options,
        "path": [os.path.abspath(one) for one in sys.path if "suite_hook" not in one],
        "cwd": os.getcwd(),
        "environment": {name: value for name, value in os.environ.items() if name not in OURS},
    }
    where = urlsplit(os.environ["DEADRANK_SUITE"])
    connection = http.client.HTTPConnection(where.hostname, where.port)
    connection.request("POST", where.path, json.dumps(request))
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    if response.status != 200:
        raise RuntimeError(f"deadrank: {text.strip()}")
    return json.loads(text)


def show(answer):
    """The output of a test that did not pass, where the test runner captures it."""
    if all(code == 0 or code in SKIPPED for code in answer["codes"]):
        return
    for rank, output in enumerate(answer["outputs"]):
        for line in output.splitlines():
            print(f"[rank {rank}] {line}", file=sys.stderr)
