# runners/backends/local/hook/deadrank_hook/scalers.py — Gradient scalers of mixed precision. A step that
# overflowed counts too: the scaler's update ends it, without the optimizer. The loss is what it was before it
# was scaled.
import functools
import sys
import weakref

from . import imports
from .later import graphs


def watch(training):
    import torch

    scaler = getattr(torch.amp, "GradScaler", None)  # torch 2.3 and later
    if scaler is None:
        return
    real = scaler.update

    @functools.wraps(real)
    def update(self, *args, **settings):
        real(self, *args, **settings)
        training.scaled = lambda: None, None
        if graphs.recording:
            return
        if not training.stepped:
            training.norm = 0.0  # there is no usable gradient
        training.step_taken()

    scaler.update = update
    watch_scale(training, scaler, "scale")
    of_deepspeed = "deepspeed.runtime.fp16.loss_scaler"
    imports.after(of_deepspeed, lambda: watch_deepspeed(training, sys.modules[of_deepspeed]))
    of_shards = "torch.distributed.fsdp.sharded_grad_scaler"
    imports.after(of_shards, lambda: watch_scale(training, sys.modules[of_shards].ShardedGradScaler, "scale"))


def watch_deepspeed(training, module):
    """0.18 and later: the engine scales before it calls backward(). Its first scales overflow half precision."""
    if hasattr(module.LossScalerBase, "scale_loss"):
        watch_scale(training, module.LossScalerBase, "scale_loss")
    scaler = module.DynamicLossScaler
    real = scaler.update_scale

    @functools.wraps(real)
    def update_scale(self, overflow):
        real(self, overflow)
        if overflow:  # the optimizer will not step
            training.norm = 0.0
            training.step_taken()

    scaler.update_scale = update_scale


def watch_scale(training, scaler, name):
    real = getattr(scaler, name)

    @functools.wraps(real)
    def scale(self, outputs):
        made = real(self, outputs)
        if made is not outputs and hasattr(outputs, "backward"):
            training.scaled = weakref.ref(made), outputs
        return made

    setattr(scaler, name, scale)
