# tests/suites/torch_project/test_rpc.py — A suite whose ranks do what is not simulated: they call one another by RPC.
import os

import torch
from torch.distributed import rpc
from torch.testing._internal.common_distributed import MultiProcessTestCase
from torch.testing._internal.common_utils import run_tests


class TestRpc(MultiProcessTestCase):
    world_size = 2

    def setUp(self):
        super().setUp()
        self._spawn_processes()

    def test_sum(self):
        options = rpc.TensorPipeRpcBackendOptions(init_method=f"file://{self.file_name}")
        rpc.init_rpc(f"worker{self.rank}", rank=self.rank, world_size=2, rpc_backend_options=options)
        if self.rank == 0:
            self.assertEqual(rpc.rpc_sync("worker1", torch.add, args=(torch.ones(1), 2)).item(), 3)
        rpc.shutdown()

    def test_without_rpc(self):
        self.assertNotIn("RPC", os.environ)


if __name__ == "__main__":
    run_tests()
