# scenarios/releases/initialization/newer_fsspec_hides_the_cache.py — Each rank loads a small file, as a job
# does before it trains.
import os

from datasets import load_dataset

RANK = os.environ["RANK"]
HERE = os.environ["TMPDIR"]


def main():
    path = os.path.join(HERE, f"samples-of-rank{RANK}.csv")
    with open(path, "w", encoding="utf-8") as file:
        file.write("n\n1\n2\n")
    data = load_dataset("csv", data_files=[path], split="train", cache_dir=os.path.join(HERE, f"cache{RANK}"))
    for step, sample in enumerate(data):
        print(f"step={step} loss={1 / sample['n']:.4f}")


if __name__ == "__main__":
    main()
