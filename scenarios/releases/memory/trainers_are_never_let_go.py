# scenarios/releases/memory/trainers_are_never_let_go.py — A search over settings: each gets an engine and a
# model of its own, and nobody keeps them.
import gc

import ignite.distributed as idist
import torch
from ignite.engine import Engine, Events

ROUNDS, MEGABYTES = 8, 32


def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096 // 2**20


def search(setting):
    model = torch.ones(MEGABYTES * 2**20 // 4)
    engine = Engine(lambda engine, batch: model[batch] * setting)
    engine.add_event_handler(Events.EPOCH_COMPLETED, lambda engine: None)
    engine.run([0, 1], max_epochs=1)


def main():
    idist.initialize("gloo")
    gc.disable()
    search(1)
    before = resident()
    for step in range(ROUNDS):
        search(step)
        print(f"step={step} loss={1 / (step + 1):.4f}")
        kept = max(0, resident() - before) // MEGABYTES
        print(f"value name=models.kept step={step} is={kept} should=0")
    print(f"host memory grew by {kept} of {ROUNDS} models")
    idist.finalize()


if __name__ == "__main__":
    main()
