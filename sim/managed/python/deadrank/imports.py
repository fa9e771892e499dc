# sim/managed/python/deadrank/imports.py — Which installed packages a script imports, without running it. The zygote
# imports them once. The program's own modules stay to the ranks: what they do on import is the program's, and where
# one has the name of an installed package (`datasets`, a repository's own `megatron`), the rank finds it first.
import ast
import importlib
import importlib.util
import os
import sys
import sysconfig

# They start threads or processes, or open connections, when they are imported.
LEFT_OUT = {"mpi4py", "ray", "tensorflow", "jax", "wandb", "horovod"}
INSTALLED = tuple(
    os.path.join(sysconfig.get_path(name), "") for name in ("purelib", "platlib", "stdlib", "platstdlib")
)


def packages_of(script):
    """(module, names that are taken from it) of the imports at the top of a script."""
    if not script:
        return []
    try:
        with open(script, "rb") as file:
            tree = ast.parse(file.read())
    except (OSError, SyntaxError, ValueError):
        return []
    found = []
    for node in top_level(tree.body):
        if isinstance(node, ast.Import):
            found += [(one.name, ()) for one in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.append((node.module, tuple(one.name for one in node.names)))
    own = own_names(script)
    return [(name, words) for name, words in found if name.split(".")[0] not in own and is_installed(name)]


def own_names(script):
    """Names of modules that may stand beside a script, which come before installed ones; none without a script."""
    if not script:
        return set()
    try:
        entries = list(os.scandir(os.path.dirname(os.path.realpath(script))))
    except OSError:
        return set()
    names = {entry.name.removesuffix(".py") for entry in entries if entry.is_dir() or entry.name.endswith(".py")}
    return {name for name in names if name.isidentifier()}


def hidden_by(script):
    """Installed modules that a rank must not have before the program finds its own of that name."""
    return {name for name in own_names(script) if name not in sys.modules and is_installed(name)}


def brings_in(name, words, unwanted):
    """Whether an import of `name` imports one of `unwanted`, as `evaluate` imports `datasets`. A child tries it."""
    child = os.fork()
    if child == 0:
        found = True
        try:
            load(name, words, {})
            found = any(module in sys.modules for module in unwanted)
        finally:
            os._exit(found)
    return os.waitpid(child, 0)[1] != 0


def top_level(body):
    """Statements outside of functions and classes, those below `if` and `try` included. What runs as the
    program's main part alone is not one of them."""
    for node in body:
        if isinstance(node, ast.If) and "__main__" in ast.dump(node.test):
            continue
        yield node
        for part in ("body", "orelse", "handlers", "finalbody"):
            if isinstance(node, (ast.If, ast.Try, ast.With, ast.ExceptHandler)):
                yield from top_level(getattr(node, part, []))


def is_installed(name):
    package = name.split(".")[0]
    if package in LEFT_OUT:
        return False
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return False
    if spec is None:
        return False
    places = [spec.origin or "", *(spec.submodule_search_locations or ())]
    return any(place.startswith(INSTALLED) or f"{os.sep}site-packages{os.sep}" in place for place in places)


def load(name, words, failed):
    """True if the module is there. Some packages import a part only when one of its names is taken."""
    try:
        module = importlib.import_module(name)
        for word in words:
            if word != "*" and getattr(module, word, None) is None:
                importlib.import_module(f"{name}.{word}")
        return True
    except BaseException as trouble:
        if isinstance(trouble, KeyboardInterrupt):
            raise
        failed[name] = repr(trouble)
        return False
