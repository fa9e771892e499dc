# sim/managed/python/deadrank/drop_in.py — In the process of a test runner under `deadrank test`: torch's test classes
# and mp.spawn ask deadrank for their ranks instead of starting processes. Their own code does the rest, unmodified.
# Relied upon: MultiProcessTestCase._start_processes, _join_processes, processes, pid_to_pipe; MultiProcContinuousTest
# ._spawn_processes, task_queues, completion_queues; MultiThreadedTestCase._spawn_threads;
# torch.multiprocessing.start_processes, ProcessRaisedException, ProcessExitedException.
import base64
import functools
import http.client
import json
import os
import pickle
import re
import sys
import unittest
from urllib.parse import urlsplit

FAILED = 10  # MultiProcessTestCase.TEST_ERROR_EXIT_CODE
SKIPPED = range(72, 90)  # exit codes of torch's TEST_SKIPS
OURS = ("DEADRANK_SUITE",)


def take_over(common):
    """`common`: torch.testing._internal.common_distributed."""
    common.MultiProcessTestCase._start_processes = start_processes(common.MultiProcessTestCase._start_processes)
    continuous = getattr(common, "MultiProcContinuousTest", None)
    if continuous is not None:
        continuous._spawn_processes = classmethod(spawn_processes)
    threaded = getattr(common, "MultiThreadedTestCase", None)
    if threaded is not None:
        threaded._spawn_threads = wrap_spawn_threads(threaded._spawn_threads)


def wrap_spawn_threads(real):
    """Its ranks are threads of this process that share Python objects, so they stay as they are."""

    @functools.wraps(real)
    def spawn_threads(self):
        unmanaged(self.id(), "MultiThreadedTestCase makes each rank a thread of the test's own process")
        real(self)

    return spawn_threads


def take_over_spawn(spawn):
    """`spawn`: torch.multiprocessing.spawn, whose `spawn` calls `start_processes` by name."""
    real = spawn.start_processes

    @functools.wraps(real)
    def start_processes(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn", **said):
        if not is_test_runner():
            return real(fn, args, nprocs, join, daemon, start_method, **said)
        try:
            pickled = pickle.dumps((fn, args))
        except Exception as trouble:  # queues, locks, closures: a forked process would inherit them
            unmanaged(current_test(fn), f"what mp.spawn is given cannot be copied: {trouble}")
            return real(fn, args, nprocs, join, daemon, start_method, **said)
        answer = ask(sys.modules[module_of(fn)], "", "", current_test(fn), int(nprocs), "function",
                     {"pickled": base64.b64encode(pickled).decode()})
        if why := refusal(answer):
            unmanaged(current_test(fn), why)
            return real(fn, args, nprocs, join, daemon, start_method, **said)
        show(answer)
        context = Spawned(spawn, answer)
        return context.join() and None if join else context

    spawn.start_processes = start_processes


def is_test_runner():
    """Not in a process that the runner has started for itself."""
    import multiprocessing

    return multiprocessing.parent_process() is None and "TORCHELASTIC_RUN_ID" not in os.environ


def innermost(fn):
    """The function that a partial or a launcher's object calls in the end."""
    for name in ("func", "launcher", "__wrapped__"):
        if callable(getattr(fn, name, None)):
            return innermost(getattr(fn, name))
    return fn


def module_of(fn):
    fn = innermost(fn)
    name = getattr(fn, "__module__", None) or type(fn).__module__
    return name if getattr(sys.modules.get(name), "__file__", None) else "__main__"


def current_test(fn):
    """The test that runs, as pytest or unittest call it."""
    if "PYTEST_CURRENT_TEST" in os.environ:
        return os.environ["PYTEST_CURRENT_TEST"].rsplit(" (", 1)[0]
    frame = sys._getframe(1)
    while frame is not None:
        case = frame.f_locals.get("self")
        if isinstance(case, unittest.TestCase):
            return case.id()
        frame = frame.f_back
    return f"{module_of(fn)}.{getattr(innermost(fn), '__qualname__', type(fn).__name__)}"


class Spawned:
    """torch.multiprocessing.ProcessContext of processes that have ended."""

    def __init__(self, spawn, answer):
        self.spawn, self.answer = spawn, answer
        self.processes = [Ended(-1 - rank, code) for rank, code in enumerate(answer["codes"])]
        self.sentinels = ()

    def pids(self):
        return [one.pid for one in self.processes]

    def join(self, timeout=None, grace_period=None):
        texts, codes = self.answer["results"], self.answer["codes"]
        for rank, text in enumerate(texts):
            if text:
                words = f"\n\n-- Process {rank} terminated with the following error:\n{text}"
                raise self.spawn.ProcessRaisedException(words, rank, -1 - rank)
        for rank, code in enumerate(codes):
            if code != 0:
                words = (f"process {rank} waits for ever" if code is None
                         else f"process {rank} terminated with exit code {code}")
                raise self.spawn.ProcessExitedException(words, error_index=rank, error_pid=-1 - rank,
                                                        exit_code=FAILED if code is None else code)
        return True


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


def start_processes(real):
    """In place of MultiProcessTestCase._start_processes."""

    @functools.wraps(real)
    def start(self, process):
        cls = type(self)
        answer = ask(sys.modules[cls.__module__], cls.__qualname__, self._testMethodName, self.id(), int(self.world_size),
                     "spawn", {"fake_pg": getattr(self, "fake_pg", False)})
        if why := refusal(answer):
            unmanaged(self.id(), why)
            real(self, process)
            return
        show(answer)
        self.processes = []
        for rank, code in enumerate(answer["codes"]):
            text = answer["results"][rank]
            if code is None:  # it never ended: a real process would be killed by the test's time-out
                code, text = FAILED, f"rank {rank} waits for ever\n{answer['outputs'][rank]}"
            ended = Ended(-1 - rank, code)
            self.processes.append(ended)
            self.pid_to_pipe[ended.pid] = Error(text or answer["outputs"][rank])

    return start


def refusal(answer):
    """Why a rank refused to go on, if it met something that is not simulated; else None. Real processes run such a test."""
    for text in (*answer["results"], *answer["outputs"]):
        found = re.search(r"deadrank\.channel\.NotSimulated: deadrank: (.*?)(?:[:.] |$)", text or "", re.MULTILINE)
        if found:
            return found[1]
    return None


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
            Completions.answer = ask(sys.modules[self.cls.__module__], self.cls.__qualname__, method, test,
                                     int(self.cls.world_size), "continuous", {})
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


def ask(module, cls, method, test, ranks, style, options):
    """Has deadrank play the test. Returns codes (None: never ended), outputs and results, each by rank."""
    return post({
        "python": sys.executable,
        "file": os.path.abspath(module.__file__),
        "module": module.__name__,
        "class": cls,
        "method": method,
        "test": test,
        "ranks": ranks,
        "style": style,
        "options": options,
        "path": [os.path.abspath(one) for one in sys.path if "suite_hook" not in one],
        "cwd": os.getcwd(),
        "environment": {name: value for name, value in os.environ.items() if name not in OURS},
    })


def unmanaged(test, why):
    """Tells deadrank that the ranks of a test are not its own."""
    post({"test": test, "unmanaged": why})


def post(request):
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
