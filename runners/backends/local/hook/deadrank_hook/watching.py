# runners/backends/local/hook/deadrank_hook/watching.py — The hook in a program that is only watched. No
# failure in here may reach the program: the first one turns the hook off and is reported once.
import atexit
import functools
import os
import sys
import threading
import traceback

LOOK = 0.5  # seconds between checks whether the watcher wants stacks
LARGE = 20_000_000  # elements of parameters that are digested in every step, once the first steps are over


def rank_here():
    names = ("DEADRANK_RANK", "RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")
    return next(int(os.environ[name]) for name in names if os.environ.get(name))


def begin(hook, told):
    try:
        prepare(hook, told)
    except Exception as trouble:
        turn_off(hook, trouble)


def prepare(hook, told):
    from . import environment, imports, readback, store

    environment.record(hook, told)
    hook.readback = readback.ReadBack(hook, turn_off)
    hook.store = store.Detour(hook.slot)
    hook.network = None
    os.register_at_fork(after_in_child=functools.partial(silence, hook))
    atexit.register(goodbye, hook)
    watch_exceptions(hook)
    hook.threads.every(LOOK, functools.partial(show_stacks, hook), "deadrank-stacks")

    def with_torch():
        import deadrank_hook

        try:
            deadrank_hook.watch_torch(hook)
        except Exception as trouble:
            turn_off(hook, trouble)

    imports.after("torch", with_torch)


def silence(hook):
    """A child process of the rank is not a rank."""
    hook.off = hook.evidence.off = True


def turn_off(hook, trouble):
    if hook.off:
        return
    hook.off = True  # first: what follows may fail again
    why = f"{type(trouble).__name__}: {trouble}".replace('"', "'")[:200]
    try:
        tell(hook, "evidence.lost", why=f"its hook failed: {why}")
    except Exception:  # perhaps the disk that made it fail
        pass
    silence(hook)
    try:
        print(f"deadrank: rank {hook.slot} is no longer watched: {why}", file=sys.stderr, flush=True)
    except Exception:  # a file on the same disk
        pass


def tell(hook, kind, **fields):
    """By the watcher's pipe, which takes no room on a disk; else as a line of evidence."""
    try:
        pipe = os.open(os.path.join(hook.directory, "told"), os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return type(hook.evidence).write(hook.evidence, kind, **fields)
    try:
        os.write(pipe, hook.evidence.line(kind, fields))
    finally:
        os.close(pipe)
    return None


def goodbye(hook):
    try:
        if not hook.off:
            hook.readback.at_end()
        hook.evidence.write("hook.goodbye", pid=os.getpid())
    except Exception as trouble:
        turn_off(hook, trouble)


def harmless(hook, function, answer=None):
    @functools.wraps(function)
    def call(*args, **settings):
        if hook.off:
            return answer
        try:
            return function(*args, **settings)
        except Exception as trouble:
            turn_off(hook, trouble)
            return answer

    return call


def install(hook):
    """Guards each of the hook's own functions that the program passes through."""
    if not hook.watching:
        return
    from . import checkpoints, flight_recorder, readback, replicas, shares, training
    from .observed import Observer

    hook.evidence.write = harmless(hook, hook.evidence.write)
    hook.injector.at = harmless(hook, hook.injector.at)
    for owner, names in (
        (training.Training,
         ("new_work", "no_work", "aside", "finish", "loaded", "phase", "evaluates", "evaluated", "forward",
          "backward",
          "optimizer", "optimized", "step_taken")),
        (Observer, ("begin", "landed", "failed", "issued")),
        (flight_recorder.Flight, ("dump",)),
        (readback.ReadBack, ("after",)),
    ):
        for name in names:
            setattr(owner, name, harmless(hook, getattr(owner, name)))
    for module, name, answer in (
        (training.Training, "has_parameters", False),
        (shares.Shares, "of", None),
        (shares.Shares, "came", None),
        (shares.Shares, "ended", None),
        (shares.Shares, "passed_over", None),
        (checkpoints, "content", {}),
        (checkpoints, "shard_of", {}),
        (checkpoints, "files_of", []),
        (checkpoints, "take", []),
        (checkpoints, "harm", None),
        (checkpoints, "remember", None),
    ):
        setattr(module, name, harmless(hook, getattr(module, name), answer))
    replicas.Replicas.digests = seldom(hook, replicas.Replicas.digests)


def seldom(hook, digests):
    """Digests fewer steps the longer a program runs and the more parameters there are.

    All ranks have as many, so they skip the same steps. Ranks that have diverged stay so."""
    from .training import FIRST

    @functools.wraps(digests)
    def call(self):
        usual = 4 if hook.step < 4 * FIRST else 8
        if hook.step >= FIRST:
            if hook.step % usual:
                return ()  # changes are remembered: networks that step in turn are all digested
            if hook.step % (usual * max(1, round(self.elements() / (usual * LARGE)))):
                return ()
        return digests(self)

    return call


def watch_exceptions(hook):
    """Records the exception that ends a rank, which nothing else keeps for us."""
    before = sys.excepthook

    def said(kind, trouble, trace):
        if not hook.off:
            try:
                for block in traceback.format_exception(kind, trouble, trace):
                    for line in block.rstrip("\n").split("\n"):
                        hook.evidence.write("rank.log", level=2, line=line)
            except Exception as own:
                turn_off(hook, own)
        before(kind, trouble, trace)

    sys.excepthook = said


def show_stacks(hook):
    wanted = os.path.join(hook.directory, "stacks.wanted")
    path = os.path.join(hook.directory, f"stack{hook.slot}.txt")
    try:
        if hook.off or not os.path.exists(wanted):
            return
        frame = sys._current_frames().get(threading.main_thread().ident)
        lines = [one for one in traceback.format_stack(frame) if "deadrank_hook" not in one.split("\n")[0]]
        with open(path + ".new", "w", encoding="utf-8") as file:
            file.write(f"rank {hook.slot} stands here:\n" + "".join(lines[-6:]))
        os.replace(path + ".new", path)
    except Exception as trouble:
        turn_off(hook, trouble)
