# scenarios/releases/scheduling/one_shard_leaves_ranks_without_samples.py — Two ranks share a data set of a
# single tar file.
import io
import os
import tarfile

from datasets import load_dataset
from datasets.distributed import split_dataset_by_node

RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
SAMPLES = 12


def written():
    path = os.path.join(os.environ["TMPDIR"], f"shard-of-rank{RANK}.tar")
    with tarfile.open(path, "w") as tar:
        for number in range(SAMPLES):
            text = str(number).encode()
            entry = tarfile.TarInfo(f"{number:06d}.txt")
            entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text))
    return path


def main():
    whole = load_dataset("webdataset", data_files=[written()], split="train", streaming=True)
    step = -1
    for step, sample in enumerate(split_dataset_by_node(whole, RANK, WORLD)):
        print(f"batch epoch=0 step={step} samples={int(sample['txt'])}")
        print(f"step={step} loss={1 / (step + 1):.4f}")
    print(f"rank {RANK} read {step + 1} of {SAMPLES} samples")


if __name__ == "__main__":
    main()
