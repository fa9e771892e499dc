# tests/suites/mutated_project/test_spawned.py — A test as pytest alone knows it, whose ranks are mp.spawn's.
import pytest
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


@pytest.mark.parametrize("ranks", [2, 3])
def test_total(ranks):
    mp.spawn(check_total, args=(ranks, 29511), nprocs=ranks)


def test_an_error_of_a_rank_reaches_the_test():
    with pytest.raises(mp.ProcessRaisedException, match="rank 1 is not the first"):
        mp.spawn(check_wrongly, nprocs=2)


def test_without_ranks():
    assert trainer.make()[0].weight.shape == (1, 2)
