# runners/backends/local/subjects/audit.py — Compares gradients with their parts: those of micro-batches must
# add up to a rank's, those of ranks to the reduced one. In doubles, so that six digits agree.
import math

from reference import weighed


class Audit:
    def micro_batch(self, gradients, first):
        found = weighed(gradients)
        self.parts = found if first else self.parts + found
        self.reduced = []

    def accumulated(self, gradients):
        """This rank's gradient; the sum over all ranks is what the reduction should give."""
        self.own = weighed(gradients)

    def bucket(self, flat):
        self.reduced.append(flat.clone())

    def check(self, step, together):
        """Ends the job so that its launcher restarts it, as a rerun state machine does."""
        if self.reduced and not math.isclose(weighed(self.reduced), together, rel_tol=1e-5, abs_tol=1e-9):
            raise RuntimeError(
                f"unexpected result in step {step}: the reduced gradient is not the sum of its parts, rerun "
                "from the last checkpoint"
            )

    def show(self, step, together):
        shown = {"gradient.accumulated": (self.own, self.parts)}
        if self.reduced:
            shown["gradient.reduced"] = (weighed(self.reduced), together)
        for name, (value, expected) in shown.items():
            print(f"value name={name} step={step} is={value!r} should={expected!r}", flush=True)
