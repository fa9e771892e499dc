# tests/sim/managed/programs/torch_suite_rank.py — One rank of one test of torch's own distributed suite:
# torch_suite_rank.py NAME [DIRECTORY], with RANK, WORLD_SIZE
# and MASTER_ADDR from a launcher. What the suite's parent process does for a rank is done here; the rank's part
# runs unmodified. The ranks of one run share an empty directory; without one, they agree on a new one.
import atexit
import multiprocessing
import os
import shutil
import sys
import tempfile

os.environ.setdefault("BACKEND", "gloo")
os.environ.setdefault("TEMP_DIR", tempfile.gettempdir())

import torch.distributed as dist
import torch.testing._internal.distributed.distributed_test as suite


SKIPPED = 86  # "generic" of torch's TEST_SKIPS


class TestDistBackendWithSpawn(suite.TestDistBackend, suite.DistributedTest._DistTestBase):
    def setUp(self):
        super().setUp()
        self._spawn_processes()


def shared_directory():
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    address, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]) + 1
    store = dist.TCPStore(address, port, world, rank == 0)
    if rank == 0:
        store.set("place", tempfile.mkdtemp(prefix="torch_suite_"))
    place = store.get("place").decode()
    atexit.register(leave, place, rank, world)
    return store, place


def leave(place, rank, world):
    """The last rank removes the directory."""
    os.makedirs(os.path.join(place, "left", str(rank)))
    if len(os.listdir(os.path.join(place, "left"))) == world:
        shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    name = sys.argv[1]
    if getattr(getattr(TestDistBackendWithSpawn, name), "__unittest_skip__", False):
        sys.exit(SKIPPED)  # the parent process would not start the ranks
    store, place = (None, sys.argv[2]) if len(sys.argv) > 2 else shared_directory()
    for part in ("barrier", "test_dir", "init_dir"):
        os.makedirs(os.path.join(place, part), exist_ok=True)
    os.environ["TEMP_DIR"] = place
    theirs, ours = multiprocessing.Pipe()
    TestDistBackendWithSpawn._run(int(os.environ["RANK"]), name, os.path.join(place, "rendezvous"), theirs)
