# scenarios/releases/fault_tolerance/resume_drops_the_rest_of_a_shard.py — A job that reads a sharded
# stream, saves its place in the middle of a shard, and goes on from there.
import os

import torch
from datasets import Dataset
from datasets.distributed import split_dataset_by_node

RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


def stream():
    whole = Dataset.from_dict({"n": list(range(24))}).to_iterable_dataset(num_shards=4)
    return split_dataset_by_node(whole, RANK, WORLD)


def read(samples, step, most):
    for sample in samples:
        print(f"batch epoch=0 step={step} samples={sample['n']}")
        print(f"step={step} loss={1 / (step + 1):.4f}")
        step += 1
        if step == most:
            break
    return step


def main():
    checkpoint = os.path.join(os.environ["TMPDIR"], f"stream{RANK}.pt")
    data = stream()
    step = read(data, 0, 3)
    torch.save({"data": data.state_dict(), "step": step}, checkpoint)
    state = torch.load(checkpoint)
    data = stream()
    data.load_state_dict(state["data"])
    step = read(data, state["step"], -1)
    print(f"value name=samples.read step={step} is={step} should={24 // WORLD}")


if __name__ == "__main__":
    main()
