# tests/agents/clients.py — The Python environment that `./dev tools` makes for the checks of this folder.
import os
import sys
from pathlib import Path


def use_clients():
    """Begins the program anew in that environment, where it exists. The imports say what is missing otherwise."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    clients = Path(os.environ.get("DEADRANK_CLIENTS") or cache / "deadrank/clients")
    python = clients / "bin/python"
    if python.exists() and Path(sys.prefix) != clients:
        os.execv(python, [str(python), *sys.argv])
