# runners/backends/local/hook/deadrank_hook/lines.py — What is told of every step. Most of it is the same each
# time, and only numbers are put in.
import time


class Lines:
    def __init__(self, evidence):
        self.evidence = evidence
        self.begin = evidence.form("step.begin", "step")
        self.end = evidence.form("step.end", "step", "loss")
        self.phases, self.values = {}, {}

    def value(self, name, value, step):
        form = self.values.get(name)
        if form is None:
            form = self.values[name] = self.evidence.form(
                "value.sample", "step", "value", name=name, expected="nan"
            )
        self.evidence.put(form % (time.time_ns(), step, value))

    def phase(self, kind, name, at, step):
        form = self.phases.get((kind, name))
        if form is None:
            form = self.phases[kind, name] = self.evidence.form(kind, "step", phase=name)
        self.evidence.put(form % (at, step))
