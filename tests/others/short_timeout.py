# tests/others/short_timeout.py — Runs a program with a time-out of SECONDS for each process group that states none, meshes'
# included: torch has no setting for it. python short_timeout.py SECONDS FILE [ARGUMENT ...]
import datetime
import os
import runpy
import sys

from torch.distributed import distributed_c10d

limit = datetime.timedelta(seconds=float(sys.argv[1]))
for name in ("default_pg_timeout", "default_pg_nccl_timeout"):
    setattr(distributed_c10d, name, limit)
del sys.argv[:2]
sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
runpy.run_path(sys.argv[0], run_name="__main__")
