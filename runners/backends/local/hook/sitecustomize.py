# runners/backends/local/hook/sitecustomize.py — Python runs this at every start when its directory is on
# PYTHONPATH: this is the hook's only entry. It acts once, only in a rank of the job under test, and never in
# the rank's helper processes. A process without a rank may become one later.
import importlib.machinery
import importlib.util
import os
import sys


def run_next_sitecustomize():
    """Only the first sitecustomize on the path is imported, so this one runs the one that it hides."""
    here = os.path.dirname(os.path.abspath(__file__))
    places = [os.path.abspath(one or ".") for one in sys.path]
    behind = sys.path[places.index(here) + 1 :] if here in places else []
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", behind)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


run_next_sitecustomize()
named = ("RANK", "DEADRANK_RANK")
if "DEADRANK_WATCH" in os.environ:  # as srun and mpirun name them
    named += ("SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")
watched = "DEADRANK_EVIDENCE" in os.environ
if watched and any(name in os.environ for name in named):
    if os.environ.setdefault("DEADRANK_PID", str(os.getpid())) == str(os.getpid()):
        try:
            import deadrank_hook

            deadrank_hook.start()
        except Exception as trouble:  # the subject must run as if we were not there
            print(f"deadrank: the hook did not start: {trouble!r}", file=sys.stderr, flush=True)
elif watched and "DEADRANK_PID" not in os.environ:
    try:
        from deadrank_hook import late

        late.wait()
    except Exception as trouble:
        print(f"deadrank: the hook did not start: {trouble!r}", file=sys.stderr, flush=True)
