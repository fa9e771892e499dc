# runners/backends/local/hook/deadrank_hook/sockets.py — Passes this rank's faults to libdeadrank-sockets.so,
# which wraps libc's sending calls.
import ctypes

MISSING = "libdeadrank-sockets.so was not loaded before this rank's libraries"


def loaded():
    library = ctypes.CDLL(None)
    if not hasattr(library, "deadrank_link"):
        return None
    library.deadrank_link_flip.restype = ctypes.c_longlong
    return library


def change(state, late):
    library = loaded()
    if library is None:
        return MISSING
    library.deadrank_link(ctypes.c_int(state), ctypes.c_longlong(late))
    return None


def flip_next(bit):
    """Flips this bit in the next message to a peer; returns a sentence if the library is missing."""
    library = loaded()
    if library is None:
        return MISSING
    library.deadrank_link_flip(ctypes.c_longlong(bit))
    return None


def take_back():
    """Cancels the flip; true if it was still waiting for a message."""
    return loaded().deadrank_link_flip(ctypes.c_longlong(-1)) >= 0
