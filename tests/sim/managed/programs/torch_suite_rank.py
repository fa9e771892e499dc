# One rank of one test of torch's own distributed suite: torch_suite_rank.py NAME FILE. What the suite's parent
# process does for a rank is done here, and the rank's part runs unmodified.
import multiprocessing
import os
import sys

import torch.testing._internal.distributed.distributed_test as suite


class TestDistBackendWithSpawn(suite.TestDistBackend, suite.DistributedTest._DistTestBase):
    def setUp(self):
        super().setUp()
        self._spawn_processes()


if __name__ == "__main__":
    name, file = sys.argv[1:3]
    theirs, ours = multiprocessing.Pipe()
    TestDistBackendWithSpawn._run(int(os.environ["RANK"]), name, file, theirs)
