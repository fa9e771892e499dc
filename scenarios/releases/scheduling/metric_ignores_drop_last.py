# scenarios/releases/scheduling/metric_ignores_drop_last.py — An evaluation whose loader leaves out what
# fills no whole batch.
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader


def main():
    accelerator = Accelerator(cpu=True)
    loader = accelerator.prepare(DataLoader(list(range(18)), batch_size=4, drop_last=True))
    given = gathered = 0
    for step, batch in enumerate(loader):
        given += len(batch) * accelerator.num_processes
        gathered += len(accelerator.gather_for_metrics(batch))
        print(f"step={step} loss={1 / (step + 1):.4f}")
    print(f"evaluated {gathered} of {given} samples")
    print(f"value name=evaluated.samples step={step} is={gathered} should={given}")
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
