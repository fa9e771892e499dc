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
        self.evidence.put(self.phase_form(kind, name) % (at, step))

    def whole_phase(self, name, began, ended, step):
        form = self.phase_form("both", name)
        self.evidence.put(form % (began, step, ended, step))

    def phase_form(self, kind, name):
        form = self.phases.get((kind, name))
        if form is None:
            kinds = ("phase.begin", "phase.end") if kind == "both" else (kind,)
            forms = [self.evidence.form(one, "step", phase=name) for one in kinds]
            form = self.phases[kind, name] = b"".join(forms)
        return form
