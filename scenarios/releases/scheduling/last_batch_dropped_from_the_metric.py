# scenarios/releases/scheduling/last_batch_dropped_from_the_metric.py — An evaluation that gathers what
# every rank predicted.
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader

SAMPLES = 32


def main():
    accelerator = Accelerator(cpu=True)
    loader = accelerator.prepare(DataLoader(list(range(SAMPLES)), batch_size=4))
    gathered = []
    for step, batch in enumerate(loader):
        seen = accelerator.gather_for_metrics(batch).tolist()
        gathered += seen
        print(f"step={step} loss={1 / (step + 1):.4f}")
    print(f"evaluated {len(gathered)} of {SAMPLES} samples")
    print(f"value name=evaluated.samples step={step} is={len(gathered)} should={SAMPLES}")
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
