# tests/suites/torch_project/test_ranks.py — A suite over torch's own test classes, as a framework's.
import os
import time

import torch
import torch.distributed as dist
from torch.testing._internal.common_distributed import (
    MultiProcContinuousTest,
    MultiProcessTestCase,
    skip_if_lt_x_gpu,
)
from torch.testing._internal.common_utils import run_tests


class TestSums(MultiProcessTestCase):
    @property
    def world_size(self):
        return 4

    def setUp(self):
        super().setUp()
        self._spawn_processes()

    def begin(self):
        store = dist.FileStore(self.file_name, self.world_size)
        dist.init_process_group("gloo", store=store, rank=self.rank, world_size=self.world_size)

    def test_sum(self):
        self.begin()
        value = torch.ones(3) * self.rank
        dist.all_reduce(value)
        self.assertEqual(value[0].item(), 6)

    def test_that_no_launcher_started_its_ranks(self):
        self.assertEqual([name for name in ("RANK", "LOCAL_RANK", "MASTER_ADDR") if name in os.environ], [])

    def test_with_a_wrong_sum(self):
        self.begin()
        value = torch.ones(3)
        dist.all_reduce(value)
        self.assertEqual(value[0].item(), 5)

    def test_in_which_a_rank_is_late(self):
        self.begin()
        if self.rank == 0:
            time.sleep(5 * 3600)
        dist.all_reduce(torch.ones(2))

    @skip_if_lt_x_gpu(8)
    def test_for_many_gpus(self):
        self.begin()

    def test_that_swallows_errors(self):
        try:
            self.begin()
            dist.all_reduce(torch.ones(2))
        except RuntimeError:
            while True:
                time.sleep(60)


class TestWorkers(MultiProcContinuousTest):
    world_size = 2

    @classmethod
    def backend_str(cls):
        return "gloo"

    @classmethod
    def device_type(cls):
        return "cpu"

    def test_sum(self):
        value = torch.ones(3)
        dist.all_reduce(value)
        self.assertEqual(value[0].item(), 2)


if __name__ == "__main__":
    run_tests()
