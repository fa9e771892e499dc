# tests/suites/torch_project/test_threads.py — A suite in which each rank is a thread of the test's own process.
import torch
import torch.distributed as dist
from torch.testing._internal.common_distributed import MultiThreadedTestCase
from torch.testing._internal.common_utils import run_tests


class TestThreads(MultiThreadedTestCase):
    world_size = 4

    def setUp(self):
        super().setUp()
        self._spawn_threads()

    def test_sum(self):
        value = torch.ones(3) * dist.get_rank()
        dist.all_reduce(value)
        self.assertEqual(value[0].item(), 6)

    def test_with_a_wrong_sum(self):
        value = torch.ones(3)
        dist.all_reduce(value)
        self.assertEqual(value[0].item(), 5)


if __name__ == "__main__":
    run_tests()
