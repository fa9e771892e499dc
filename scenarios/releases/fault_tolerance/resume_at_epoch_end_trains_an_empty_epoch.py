# scenarios/releases/fault_tolerance/resume_at_epoch_end_trains_an_empty_epoch.py — A job that saved its
# loader at the end of an epoch, and goes on with the next one after a restart.
import os
import random

import torch
from torchdata.stateful_dataloader import StatefulDataLoader

RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
SAMPLES, BATCH = 16, 2


def loader(epoch):
    order = random.Random(epoch).sample(range(SAMPLES), SAMPLES)
    return StatefulDataLoader(order[RANK::WORLD], batch_size=BATCH)


def train(batches, epoch, step):
    for batch in batches:
        print(f"batch epoch={epoch} step={step} samples={','.join(map(str, batch.tolist()))}")
        print(f"step={step} loss={1 / (step + 1):.4f}")
        step += 1
    return step


def main():
    checkpoint = os.path.join(os.environ["TMPDIR"], f"loader{RANK}.pt")
    first = loader(0)
    step = train(first, 0, 0)
    torch.save({"loader": first.state_dict(), "step": step}, checkpoint)
    state = torch.load(checkpoint)
    again = loader(1)
    again.load_state_dict(state["loader"])
    trained = train(again, 1, state["step"]) - state["step"]
    print(f"epoch 1 had {trained} steps")


if __name__ == "__main__":
    main()
