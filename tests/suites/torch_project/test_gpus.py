# tests/suites/torch_project/test_gpus.py — A suite for GPUs. Its ranks take memory of the first one when they import it, as
# torch's own modules for tests do, and work on others.
import torch
import torch.distributed as dist
from torch.testing._internal.common_distributed import MultiProcessTestCase
from torch.testing._internal.common_utils import run_tests

ONE = torch.ones(1, device="cuda:0")


class TestDevices(MultiProcessTestCase):
    world_size = 2

    def setUp(self):
        super().setUp()
        self._spawn_processes()

    def begin(self):
        store = dist.FileStore(self.file_name, self.world_size)
        dist.init_process_group("nccl", store=store, rank=self.rank, world_size=self.world_size)

    def test_barrier_on_a_named_device(self):
        self.begin()
        dist.barrier(device_ids=[self.rank])

    def test_barrier_without_a_device(self):
        self.begin()
        dist.barrier()

    def test_sum_without_set_device(self):
        self.begin()
        value = torch.ones(3, device=f"cuda:{self.rank}")
        dist.all_reduce(value)
        self.assertEqual(value[0].item(), 2)


if __name__ == "__main__":
    run_tests()
