# scenarios/releases/scheduling/interleaved_streams_give_every_rank_the_same.py — Each rank takes its part
# of a stream, and mixes it with others by weight: here it is the only one.
import os

from datasets import Dataset, interleave_datasets
from datasets.distributed import split_dataset_by_node

RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
SAMPLES = 12


def main():
    whole = Dataset.from_dict({"n": list(range(SAMPLES))}).to_iterable_dataset(num_shards=WORLD)
    mine = split_dataset_by_node(whole, RANK, WORLD)
    mixed = interleave_datasets([mine], seed=42, probabilities=[1.0])
    step = -1
    for step, sample in enumerate(mixed):
        print(f"batch epoch=0 step={step} samples={sample['n']}")
        print(f"step={step} loss={1 / (step + 1):.4f}")
    print(f"rank {RANK} read {step + 1} of {SAMPLES} samples")


if __name__ == "__main__":
    main()
