# scenarios/releases/initialization/repeated_stream_cannot_be_split.py — A training stream without an end,
# of which each rank takes its part.
import os

from datasets import Dataset
from datasets.distributed import split_dataset_by_node

RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


def main():
    endless = Dataset.from_dict({"n": list(range(8))}).to_iterable_dataset(num_shards=WORLD).repeat(None)
    for step, sample in enumerate(split_dataset_by_node(endless, RANK, WORLD)):
        print(f"step={step} loss={1 / (step + 1 + sample['n'] * 0):.4f}")
        if step == 9:
            break


if __name__ == "__main__":
    main()
