# tests/suites/mutated_project/test_spawned.py — Tests whose ranks mp.spawn starts, as suites without torch's test classes
# have them.
import unittest

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import trainer


def check_total(rank, world_size, port):
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=world_size)
    assert trainer.total(torch.ones(1)).item() == world_size
    dist.destroy_process_group()


def check_wrongly(rank):
    assert rank == 0, f"rank {rank} is not the first"


def put(rank, queue):
    queue.put(rank)


class TestSpawned(unittest.TestCase):
    def test_total(self):
        for ranks in (2, 3):
            mp.spawn(check_total, args=(ranks, 29511), nprocs=ranks)

    def test_an_error_of_a_rank_reaches_the_test(self):
        with self.assertRaisesRegex(mp.ProcessRaisedException, "rank 1 is not the first"):
            mp.spawn(check_wrongly, nprocs=2)

    def test_a_queue_goes_to_real_processes(self):
        queue = mp.get_context("spawn").SimpleQueue()
        mp.spawn(put, args=(queue,), nprocs=2)
        self.assertEqual({queue.get(), queue.get()}, {0, 1})

    def test_without_ranks(self):
        self.assertEqual(trainer.make()[0].weight.shape, (1, 2))


if __name__ == "__main__":
    unittest.main()
