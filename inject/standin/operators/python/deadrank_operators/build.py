# inject/standin/operators/python/deadrank_operators/build.py — Compiles the library for the installed
# torch, once, and keeps it in the cache.
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

OPERATORS = Path(__file__).resolve().parents[2]  # inject/standin/operators
ROOT = OPERATORS.parents[2]  # includes are written from here
FLAGS = ["-std=c++20", "-O2", "-g0", "-fPIC", "-shared"]


class BuildError(Exception):
    """Why there is no library, as a sentence."""


def find_or_build():
    """Returns the path of the library. Ranks that start together wait for the first of them to build it."""
    import torch

    library = (
        cache_directory()
        / f"{torch.__version__}-{sys.implementation.cache_tag}-{fingerprint()}"
        / "operators.so"
    )
    if library.exists():
        return str(library)
    compiler = find_compiler()
    try:
        library.parent.mkdir(parents=True, exist_ok=True)
        with open(library.parent / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not library.exists():
                build(compiler, library)
    except OSError as trouble:
        raise BuildError(
            f"The operators' library cannot be written to {library.parent}: {trouble.strerror}."
        ) from trouble
    return str(library)


def cache_directory():
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "deadrank" / "operators"


def sources():
    return [
        *sorted(OPERATORS.glob("*.h")),
        OPERATORS / "operators_library.cpp",
        OPERATORS.parent / "device" / "captured_work.h",
        OPERATORS.parent / "device" / "virtual_time.h",
    ]


def fingerprint():
    """Returns a hash of all that decides what the library is, besides torch itself."""
    digest = hashlib.sha256(" ".join(FLAGS).encode())
    for source in sources():
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def find_compiler():
    for name in filter(None, (os.environ.get("CXX"), "g++", "c++", "clang++")):
        if found := shutil.which(name):
            return found
    raise BuildError("No C++ compiler is installed (g++, or another in CXX).")


def build(compiler, library):
    """Compiles beside the target and renames, so that nobody loads half a library."""
    import torch

    print(
        f"deadrank: compiling operators of simulated GPUs for torch {torch.__version__}, once (about 20 s)",
        file=sys.stderr,
        flush=True,
    )
    home = Path(torch.__file__).parent
    handle, unfinished = tempfile.mkstemp(dir=library.parent, suffix=".so")
    os.close(handle)
    abi = int(torch._C._GLIBCXX_USE_CXX11_ABI)
    command = [compiler, *FLAGS, f"-D_GLIBCXX_USE_CXX11_ABI={abi}", "-w", f"-I{ROOT}"]
    command += [f"-isystem{home / 'include'}", f"-isystem{home / 'include/torch/csrc/api/include'}"]
    command += [
        str(OPERATORS / "operators_library.cpp"),
        "-o",
        unfinished,
        f"-L{home / 'lib'}",
        "-lc10",
        "-ltorch_cpu",
    ]
    # The compiler must not load the stand-in.
    environment = {
        name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "LD_LIBRARY_PATH")
    }
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            first = next(
                (line for line in done.stderr.splitlines() if "error" in line), done.stderr.strip()[-300:]
            )
            raise BuildError(
                f"{compiler} cannot compile the operators for torch {torch.__version__}: {first}."
            )
        os.replace(unfinished, library)
    finally:
        if os.path.exists(unfinished):
            os.remove(unfinished)
