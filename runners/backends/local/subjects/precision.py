# runners/backends/local/subjects/precision.py — Data parallel training in half precision; torch's GradScaler
# keeps the dynamic loss scale. An overflow on any rank must make all of them skip the step and halve the
# scale.
import torch
import torch.distributed as dist

import layout
import parallelism


class MixedPrecision(parallelism.Replicated):
    def __init__(self, options):
        self.options = options
        self.model = parallelism.toy_model(options)  # each rank makes its own from one seed
        self.optimizer = self.make_optimizer(self.model.parameters())
        scale = float(layout.initial_scale(options.loss_scale))
        self.scaler = torch.amp.GradScaler("cpu", init_scale=scale)
        self.scaler.scale(torch.zeros(()))  # it creates its scale at the first call

    def reduce(self):
        """Casts gradients to what is sent; all ranks must learn whether that overflowed."""
        self.scale = self.scaler.get_scale()
        flat = torch.cat([gradient.reshape(-1) for gradient in self.gradients_now()])
        flat[0] = layout.local_gradient(float(flat[0]))
        self.travels = (flat * self.scale).half()
        overflow = 0 if self.travels.isfinite().all() else 1
        self.travels /= self.replicas  # before they are summed, or the sum could overflow
        self.flag = torch.tensor([layout.overflow_flag(overflow)], dtype=torch.int32)
        if not self.options.each_for_itself:
            self.agree()

    def agree(self):
        dist.all_reduce(self.flag, op=dist.ReduceOp.MAX)

    def step(self):
        self.skips, self.next_scale = False, self.scale
        if self.flag.item():
            self.skip_step()
        if self.skips:
            self.lower_scale()
        else:
            layout.reduce_bucket(self.travels, None)
            self.unscaled = self.travels.float()
            self.unscale()
            self.apply(self.unscaled * (self.replicas / layout.gradient_divisor(self.replicas)))
        self.scaler.update(self.next_scale)

    def skip_step(self):
        self.skips = True

    def lower_scale(self):
        self.next_scale = max(1.0, self.scale / 2)

    def unscale(self):
        self.unscaled = self.unscaled / self.scale

    def apply(self, flat):
        parameters = list(self.model.parameters())
        for parameter, part in zip(parameters, layout.cut_like(flat, parameters)):
            parameter.grad.copy_(part)
        self.optimizer.step()

    def show(self, step):
        for name, value in (("loss_scale", self.scale), ("overflow", self.flag.item())):
            print(f"value name={name} step={step} is={value} should=nan", flush=True)

    def check_before_save(self, path):
        if not self.optimizer.state:
            raise AssertionError(f"saving {path}: the optimizer state is empty, no step has been taken yet")
