# sim/managed/python/deadrank/streams.py — Torch's CUDA Stream Sanitizer (torch/cuda/_sanitizer.py) in a rank: it knows
# which kernels of two streams nothing orders. Torch switches it on when it is imported, which for a rank was in the
# zygote, so here it begins with the rank.
import os
import traceback
import types

VARIABLE = "TORCH_CUDA_SANITIZER"


def leave_to_ranks():
    """In the zygote, before torch is imported: the sanitizer would initialise CUDA, and forked ranks could not."""
    os.environ.pop(VARIABLE, None)


def begin():
    if VARIABLE not in os.environ:
        return
    from torch.cuda import _sanitizer

    own = os.path.dirname(__file__) + os.sep

    def walk_stack(frame):
        return (pair for pair in traceback.walk_stack(frame) if is_program(pair[0].f_code.co_filename))

    def is_program(file):
        return not file.startswith((own, "<frozen ")) and file != _sanitizer.__file__

    _sanitizer.traceback = types.SimpleNamespace(walk_stack=walk_stack, StackSummary=traceback.StackSummary)
    _sanitizer.enable_cuda_sanitizer()
