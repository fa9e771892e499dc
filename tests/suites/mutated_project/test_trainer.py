# tests/suites/mutated_project/test_trainer.py — Tests of trainer.py that notice every mutation but one.
import tempfile

import torch
import torch.distributed as dist
import trainer
from torch.testing._internal.common_distributed import MultiProcessTestCase
from torch.testing._internal.common_utils import run_tests


class TestTrainer(MultiProcessTestCase):
    @property
    def world_size(self):
        return 4

    def setUp(self):
        super().setUp()
        self._spawn_processes()

    def begin(self):
        store = dist.FileStore(self.file_name, self.world_size)
        dist.init_process_group("gloo", store=store, rank=self.rank, world_size=self.world_size)

    def test_average(self):
        self.begin()
        self.assertEqual(trainer.average(torch.ones(2) * self.rank), torch.full((2,), 1.5))

    def test_total(self):
        self.begin()
        self.assertEqual(trainer.total(torch.ones(2) * (self.rank + 1)), torch.full((2,), 10.0))

    def test_that_looks_at_the_shape_alone(self):
        self.begin()
        self.assertEqual(len(trainer.running_total([torch.ones(2) * self.rank, torch.ones(2) * 5])), 2)

    def test_share(self):
        self.begin()
        self.assertEqual(trainer.share(torch.ones(2) * (self.rank + 3)), torch.full((2,), 3.0))

    def test_gathered(self):
        self.begin()
        self.assertEqual(trainer.gathered(torch.ones(1) * self.rank), torch.arange(4.0))

    def test_samples(self):
        self.begin()
        first, second = trainer.samples(0), trainer.samples(1)
        self.assertNotEqual(first, second)
        order = torch.randperm(16, generator=torch.Generator().manual_seed(3)).tolist()
        self.assertEqual(first, order[self.rank::4])

    def test_whole(self):
        self.begin()
        self.assertEqual(trainer.whole(torch.ones(2)), torch.full((2,), 4.0))

    def test_noise_differs_and_weights_do_not(self):
        self.begin()
        noise, weights = [torch.empty(2) for _ in range(4)], [torch.empty(2) for _ in range(4)]
        dist.all_gather(noise, trainer.noise())
        dist.all_gather(weights, trainer.initial_weights())
        self.assertFalse(torch.equal(noise[0], noise[1]))
        self.assertTrue(torch.equal(weights[0], weights[1]))

    def test_training_goes_on_after_a_load(self):
        self.begin()
        place = [tempfile.mkdtemp() if self.rank == 0 else None]
        dist.broadcast_object_list(place)
        model, optimizer = trainer.make()
        trainer.train(model, optimizer, 2)
        trainer.save(model, optimizer, place[0])
        trainer.train(model, optimizer, 2)
        other, its_optimizer = trainer.make()
        self.assertEqual(trainer.load(other, its_optimizer, place[0]), self.rank)
        trainer.train(other, its_optimizer, 2)
        self.assertEqual(list(other.parameters()), list(model.parameters()))

    def test_a_step(self):
        self.begin()
        model, optimizer = trainer.make()
        before = model.bias.item()
        gradient = 2 * model(torch.ones(1, 2)).item()
        trainer.train(model, optimizer, 1, clip=100.0)
        self.assertEqual(model.bias.item(), before - 0.1 * gradient)
        self.assertEqual(model.bias.grad.item(), gradient)
        optimizer.step = lambda: None
        trainer.train(model, optimizer, 2, clip=100.0)
        self.assertEqual(model.bias.grad.item(), 2 * model(torch.ones(1, 2)).item())
        trainer.train(model, optimizer, 1, clip=0.01)
        norm = torch.stack([one.grad.norm() for one in model.parameters()]).norm()
        self.assertLessEqual(norm.item(), 0.0101)

    def test_zeros(self):
        self.begin()
        self.assertEqual(trainer.zeros(), torch.zeros(3))

    def test_that_hangs_when_it_miscounts(self):
        self.begin()
        trainer.wait_for_all()


if __name__ == "__main__":
    run_tests()
