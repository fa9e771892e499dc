# runners/backends/local/hook/deadrank_hook/randomness.py — The state of the random generators as a step begins. A job
# that was restarted and did not restore it draws other numbers than one that was never interrupted.
import hashlib
import os
import random
import sys


def may_be_restarted():
    """Only then is the state recorded: torchrun tells its workers."""
    return os.environ.get("TORCHELASTIC_MAX_RESTARTS", "0") not in ("", "0")


def digest():
    """Of torch's generators of the host and of the current device, Python's and numpy's."""
    import torch

    state = hashlib.blake2b(digest_size=6)  # a double holds it
    state.update(torch.get_rng_state().numpy())
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        state.update(torch.cuda.get_rng_state().numpy())
    state.update(repr(random.getstate()).encode())
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        _, keys, *place = numpy.random.get_state()
        state.update(keys.tobytes())
        state.update(repr(place).encode())
    return int.from_bytes(state.digest(), "little")
