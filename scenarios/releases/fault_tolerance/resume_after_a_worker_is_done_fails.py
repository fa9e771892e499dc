# scenarios/releases/fault_tolerance/resume_after_a_worker_is_done_fails.py — A job saves its place near the end
# of an epoch, when one of its loader's workers has nothing left, and goes on from there.
import os

from litdata import StreamingDataLoader, StreamingDataset
from litdata.streaming.writer import BinaryWriter

RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
HERE = os.path.join(os.environ["TMPDIR"], f"shards{RANK}")


def written():
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"):
        os.environ.pop(name, None)
    shards = BinaryWriter(HERE, chunk_size=2)
    for number in range(6):
        shards[number] = number
    shards.done()
    shards.merge()


def loader():
    return StreamingDataLoader(StreamingDataset(HERE), batch_size=2, num_workers=2)


def main():
    written()
    data = loader()
    step, state = 0, None
    for batch in data:
        print(f"batch epoch=0 step={step} samples={','.join(map(str, batch.tolist()))}")
        print(f"step={step} loss={1 / (step + 1):.4f}", flush=True)
        step += 1
        if step == 2:
            state = data.state_dict()
    print("resumed", flush=True)
    data = loader()
    data.load_state_dict(state)
    for batch in data:
        print(f"step={step} loss={1 / (step + 1):.4f}", flush=True)
        step += 1
    print(f"in all {step} batches", flush=True)


if __name__ == "__main__":
    main()
