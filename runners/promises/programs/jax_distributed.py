# runners/promises/programs/jax_distributed.py — The counted training in JAX on two processes: gradients by
# process_allgather over gloo, the coordination service's health checks every 5 s, our own checkpoint files.
import os
import pickle

import jax

TIMEOUT = int(float(os.environ["DEADRANK_PROMISE_TIMEOUT"]))
UNIT = int(os.environ["PROCESS"])

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.experimental import multihost_utils  # noqa: E402

from counted_task import FEATURES, RUN, SAVE_EVERY, STEPS, Recorder  # noqa: E402
from counted_task import digest, numbers_of, samples_of  # noqa: E402


def loss_of(flat, x, y):
    hidden = jnp.tanh(x @ flat[:FEATURES * 16].reshape(FEATURES, 16))
    return jnp.mean((hidden @ flat[FEATURES * 16:].reshape(16, 2) - y) ** 2)


class JaxTask:
    def __init__(self):
        self.flat = np.random.RandomState(7).normal(0, 0.3, FEATURES * 16 + 32).astype(np.float32)
        self.momentum = np.zeros_like(self.flat)

    def corrupt(self):
        self.flat[:1].view(np.int32)[0] ^= 1 << 28

    def apply(self, gradient):
        self.momentum = (0.9 * self.momentum + gradient).astype(np.float32)
        self.flat = (self.flat - 0.05 * self.momentum).astype(np.float32)


def saved(step):
    return RUN / "checkpoints" / f"step{step:04}-{UNIT}.pickle"


def newest():
    steps = {}
    for file in (RUN / "checkpoints").glob("step*.pickle"):
        step, unit = file.stem[4:].split("-")
        steps.setdefault(int(step), set()).add(unit)
    return max((step for step, units in steps.items() if len(units) == 2), default=-1)


def main():
    recorder = Recorder(UNIT)
    recorder.begin()
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(os.environ["COORDINATOR"], 2, UNIT, initialization_timeout=20,
                               heartbeat_timeout_seconds=TIMEOUT)
    recorder.phase("restore", 0)
    task, gradient_of = JaxTask(), jax.jit(jax.value_and_grad(loss_of))
    first = int(multihost_utils.process_allgather(np.array(newest())).min()) + 1
    if first > 0:
        task.flat, task.momentum = pickle.loads(saved(first - 1).read_bytes())
    recorder.write("resume", step=first)
    for step in range(first, STEPS):
        recorder.phase("forward", step, task)
        samples = samples_of(step, UNIT, 2)
        pairs = [numbers_of(sample) for sample in samples]
        loss, gradient = gradient_of(task.flat, np.array([x for x, _ in pairs], np.float32),
                                     np.array([y for _, y in pairs], np.float32))
        recorder.phase("collective", step, task)
        gathered = multihost_utils.process_allgather(np.asarray(gradient))
        recorder.phase("optimizer", step, task)
        task.apply(gathered.mean(0))
        recorder.committed(step, loss, samples)
        if step % SAVE_EVERY == SAVE_EVERY - 1:
            recorder.phase("save", step, task)
            new = saved(step).with_suffix(".new")
            new.write_bytes(pickle.dumps((task.flat, task.momentum)))
            os.replace(new, saved(step))
    recorder.final(STEPS - 1, parameters=digest({"flat": task.flat}), optimizer=digest({"m": task.momentum}))
    jax.distributed.shutdown()


if __name__ == "__main__":
    main()
