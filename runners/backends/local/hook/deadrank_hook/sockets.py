# runners/backends/local/hook/deadrank_hook/sockets.py — What libdeadrank-sockets.so, before libc's calls that
# send, is told by this rank's faults.
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
    """Of what is sent to a peer next; a sentence when nobody is there to do it."""
    library = loaded()
    if library is None:
        return MISSING
    library.deadrank_link_flip(ctypes.c_longlong(bit))
    return None


def take_back():
    """Whether the bit was still waiting for a message."""
    return loaded().deadrank_link_flip(ctypes.c_longlong(-1)) >= 0
