# tests/others/as_accelerator.py — Runs a program that wants an accelerator on the processor: what torch is
# asked about its devices has an answer, and what is sent to one stays. The program's own file is unmodified.
# NCCL, too, is answered by gloo.
#   torchrun … as_accelerator.py train.py ARGUMENTS
#   torchrun … as_accelerator.py -m package.train ARGUMENTS
import functools
import os
import runpy
import sys

import torch


def elsewhere(place):
    kind = type(place)
    return (kind is int and place >= 0) or (
        kind in (str, torch.device) and str(place).startswith(("cuda", "cpu:"))
    )


def stays(real):
    @functools.wraps(real)
    def call(self, *args, **settings):
        args = tuple("cpu" if elsewhere(one) else one for one in args)
        settings = {name: "cpu" if elsewhere(one) else one for name, one in settings.items()}
        return real(self, *args, **settings)

    return call


def made_here(real):
    @functools.wraps(real)
    def call(*args, device=None, **settings):
        return real(*args, device="cpu" if elsewhere(device) else device, **settings)

    return call


def asked_by_program():
    """Torch itself knows that there is none."""
    return not sys._getframe(1).f_globals.get("__name__", "").startswith("torch")


def main():
    torch.Tensor.to, torch.nn.Module.to = stays(torch.Tensor.to), stays(torch.nn.Module.to)
    for name in ("tensor", "zeros", "ones", "empty", "full", "arange", "randn", "randint"):
        setattr(torch, name, made_here(getattr(torch, name)))
    torch.Tensor.pin_memory = lambda self, *_: self
    torch.cuda.set_device = lambda *_: None
    there = torch.accelerator
    there.is_available = asked_by_program
    there.device_count = lambda: int(os.environ.get("WORLD_SIZE", "1"))
    there.current_accelerator = lambda *_, **__: torch.device("cpu")
    there.set_device_index = there.set_device_idx = there.device_index = lambda *_: None
    meet = torch.distributed.init_process_group

    @functools.wraps(meet)
    def met(backend=None, *args, device_id=None, **settings):
        return meet("gloo" if backend == "nccl" else backend, *args, **settings)

    torch.distributed.init_process_group = met
    begin = torch.nn.parallel.DistributedDataParallel.__init__

    @functools.wraps(begin)
    def on_processor(self, module, device_ids=None, output_device=None, **settings):
        begin(self, module, **settings)

    torch.nn.parallel.DistributedDataParallel.__init__ = on_processor
    sys.argv = sys.argv[1:]
    if sys.argv[0] == "-m":
        sys.argv = sys.argv[1:]
        sys.path[0] = os.getcwd()
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        return
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
