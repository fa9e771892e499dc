# scenarios/releases/memory/trainers_are_never_let_go.py — A search over settings: each gets an engine and a
# data set of its own, and nobody keeps them.
import os
import weakref

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
    return weakref.ref(engine)


def main():
    import gc

    idist.initialize("gloo")
    gc.disable()
    search(1)
    before = resident()
    for step in range(ROUNDS):
        search(step)
        print(f"step={step} loss={1 / (step + 1):.4f}")
        print(f"value name=host.memory step={step} is={resident()} should={before}")
    grown = (resident() - before) / MEGABYTES
    print(f"host memory grew by {round(grown)} of {ROUNDS} models")
    idist.finalize()


if __name__ == "__main__":
    main()
