# runners/backends/local/hook/sitecustomize.py — Python runs this at every start when its directory is on
# PYTHONPATH: the whole way in. It wakes only in a rank of the job under test, once, and never in the rank's
# own helper processes.
import os
import sys

if "DEADRANK_EVIDENCE" in os.environ and ("RANK" in os.environ or "DEADRANK_RANK" in os.environ):
    if os.environ.setdefault("DEADRANK_PID", str(os.getpid())) == str(os.getpid()):
        try:
            import deadrank_hook

            deadrank_hook.start()
        except Exception as trouble:  # the subject must run as if we were not there
            print(f"deadrank: the hook did not start: {trouble!r}", file=sys.stderr, flush=True)
