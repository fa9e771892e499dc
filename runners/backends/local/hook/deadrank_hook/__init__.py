# runners/backends/local/hook/deadrank_hook — Observes one rank from inside its interpreter and injects the
# plan's faults. The subject imports none of it. Injection wraps observation: a call that a fault swallows is
# never recorded.
import json
import os
import sys

from . import environment, evidence, imports, network, store, threads, watching
from .faults import Injector


class Hook:
    """What the parts share: where evidence goes, the plan's faults, and the step the rank is in."""

    def __init__(self, slot, directory, plan):
        self.slot = slot
        self.directory = directory
        self.plan = plan
        self.watching = "DEADRANK_WATCH" in os.environ  # watch only: change nothing in the job
        writer = evidence.Mapped if self.watching else evidence.Writer
        self.evidence = writer(os.path.join(directory, f"rank{slot}.jsonl"), slot)
        truth = os.path.join(os.path.dirname(directory.rstrip("/")), "truth", f"rank{slot}.jsonl")
        self.truth = evidence.Writer(truth, slot)
        self.off = False
        self.threads = threads.Threads()
        self.step = 0
        self.training = None
        self.injector = Injector(self)

    def shown_step(self):
        """-1 during start-up, before the first step."""
        return self.step if self.training is not None and self.training.began else -1


def start(told=None):
    """`told`: rank variables that are otherwise in the environment."""
    slot = watching.rank_here()
    plan = {}
    if os.environ.get("DEADRANK_PLAN"):
        with open(os.environ["DEADRANK_PLAN"], encoding="utf-8") as file:
            plan = json.load(file)
    hook = Hook(slot, os.environ["DEADRANK_EVIDENCE"], plan)
    if hook.watching:
        watching.begin(hook, told or {})
        return
    hook.network = network.Network(slot)
    environment.apply(hook)
    environment.record(hook, told or {})
    hook.store = store.Detour(slot)
    hook.injector.begin()
    imports.after("torch", lambda: watch_torch(hook))


def watch_torch(hook):
    import torch.distributed

    if not torch.distributed.is_available():
        print("deadrank: this torch was built without torch.distributed", file=sys.stderr)
        return
    from . import checkpoints, collectives, data, flight_recorder, groups, later, replicas, training

    watching.install(hook)
    later.graphs.watch()
    for part in (replicas, groups, collectives, training, data, checkpoints, flight_recorder):
        part.watch(hook)
    hook.injector.torch_is_ready()
