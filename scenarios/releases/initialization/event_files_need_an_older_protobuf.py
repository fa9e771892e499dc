# scenarios/releases/initialization/event_files_need_an_older_protobuf.py — Each rank opens its event file
# before it trains.
import os

from torch.utils.tensorboard import SummaryWriter

RANK = os.environ["RANK"]


def main():
    with SummaryWriter(os.path.join(os.environ["TMPDIR"], f"events{RANK}")) as events:
        for step in range(3):
            events.add_scalar("loss", 1 / (step + 1), step)
            print(f"step={step} loss={1 / (step + 1):.4f}")


if __name__ == "__main__":
    main()
