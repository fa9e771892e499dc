# scenarios/releases/fault_tolerance/resumed_epoch_has_the_order_of_the_first.py — A job that is stopped in
# its second epoch goes on there: it tells its loader which epoch that is, and leaves out what it has had.
import torch
from accelerate import Accelerator, skip_first_batches
from accelerate.utils import DataLoaderConfiguration, set_seed
from torch.utils.data import DataLoader

SAMPLES, HAD = 32, 3


def loader_of(accelerator):
    set_seed(7)
    return accelerator.prepare(DataLoader(list(range(SAMPLES)), batch_size=2, shuffle=True))


def train(loader, epoch, step, batches=SAMPLES):
    samples = []
    for batch in loader:
        samples += batch.tolist()
        print(f"batch epoch={epoch} step={step} samples={','.join(map(str, batch.tolist()))}")
        print(f"step={step} loss={1 / (step + 1):.4f}")
        step, batches = step + 1, batches - 1
        if batches == 0:
            break
    return step, samples


def main():
    accelerator = Accelerator(cpu=True, dataloader_config=DataLoaderConfiguration(use_seedable_sampler=True))
    loader = loader_of(accelerator)
    step, _ = train(loader, 0, 0)
    step, before = train(loader, 1, step, HAD)

    loader = loader_of(accelerator)  # as the job does when it is started again
    loader.set_epoch(1)
    step, after = train(skip_first_batches(loader, HAD), 1, step)
    seen = [None] * accelerator.num_processes
    torch.distributed.all_gather_object(seen, before + after)
    missing = SAMPLES - len(set(sum(seen, [])))
    print(f"samples of epoch 1 that no rank was given: {missing}")
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
