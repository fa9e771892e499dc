# sim/managed/python/deadrank/mutate.py — In a rank of `deadrank test --mutate`: which calls of the program a test
# reaches (a recording), or the one call that is bent (a mutant). What is seen goes to the simulator as lines of the
# rank's log, which also reach it from a rank that is killed. mutations.py has what is done to a call.
#   python -m deadrank.mutate FILE ...    prints every call in these files that a mutation could bend
import ast
import contextlib
import functools
import inspect
import json
import os
import sys

MARK = "\x1edeadrank "  # begins a line of the log that is no output of the program's

rank = 0
recording = False
mutant = None  # {"mutation", "call", "file", "line", "values"}
busy = False  # deadrank's own part of a mutated call runs
before = None  # what the mutated call contributed the last time
own_files = set()  # the suite's, which count as the program's even where they lie inside of torch
seen, told, visits = set(), set(), {}

OTHERS = ("_pytest/", "pluggy/", "expecttest/", "typing_extensions.py")  # they call on the program's behalf
NEED_A_CALL_BEFORE = ("late_contribution",)
out = None


def begin(request, place):
    """`request`: of drop_in.py; has "record" or "mutant" where calls are to be seen or bent."""
    global rank, recording, mutant, out
    rank, recording, mutant = place, bool(request.get("record")), request.get("mutant")
    out = os.dup(1)  # a test may redirect its output
    own_files.add(os.path.abspath(request["file"]))
    if recording or mutant:
        from . import mutations

        mutations.install()


def add_file_of(function):
    """The file in which a test is written, as far as it can be told."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is not None:
        own_files.add(code.co_filename)


def tell(**said):
    """A line to the simulator."""
    sys.stdout.flush()
    os.write(out, f"{MARK}{json.dumps(said)}\n".encode())


def report_files():
    """The program's files that this rank has loaded: those of the suite, and of the packages that it calls."""
    if not recording or rank != 0:
        return
    packages = {top_of(file) for _, file, _ in seen}
    files = set()
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and file.endswith(".py") and is_programs(file) and top_of(file) in packages:
            files.add(file)
    tests = {file for file in own_files if os.path.exists(file)}
    tell(tests=sorted(tests))
    tell(files=sorted(files | tests))


def top_of(file):
    """The package of an installed file; the directory of any other."""
    parts = file.split(os.sep)
    if "site-packages" in parts:
        return parts[parts.index("site-packages") + 1]
    return os.path.dirname(file)


def is_programs(name):
    from . import launch

    if name in own_files:
        return True
    return launch.is_users(name) and not any(f"/{one}" in name for one in OTHERS)


OBJECTS = ("broadcast_object_list", "all_gather_object", "gather_object", "scatter_object_list", "send_object_list",
           "recv_object_list")


def object_call():
    """Python objects travel as sizes and bytes: the call that the program made of them, if it is one."""
    frame = sys._getframe(2)
    for _ in range(12):
        if frame is None:
            return None
        if frame.f_code.co_name in OBJECTS and frame.f_code.co_filename.endswith("distributed_c10d.py"):
            return frame.f_code.co_name
        frame = frame.f_back
    return None


@contextlib.contextmanager
def at(call, choices, value=None):
    """Around a call of the program. Yields the mutation that bends it, or None. `choices()`: those that could.
    `value`: of which every rank may be given rank 0's."""
    site = find_site()
    if site is None:
        yield None
        return
    file, line = site
    if recording:
        record(call, file, line, choices, value)
        yield None
        return
    if not mutant or (mutant["call"], mutant["file"], mutant["line"]) != (call, file, line):
        yield None
        return
    if mutant["mutation"] not in tuple(choices()):
        yield None
        return
    note("executed")
    count_value(value)
    yield mutant["mutation"]


def find_site():
    """File and line of the innermost frame of the program; None where there is none."""
    frame = sys._getframe(3)  # behind at() and contextlib
    while frame is not None:
        if is_programs(frame.f_code.co_filename):
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return None


def record(call, file, line, choices, value):
    visits[call, file, line] = visits.get((call, file, line), 0) + 1
    for name in choices():
        if name in NEED_A_CALL_BEFORE and visits[call, file, line] < 2:
            continue
        if (call, file, line, name) not in told:
            told.add((call, file, line, name))
            seen.add((call, file, line))
            tell(site=[call, file, line], mutation=name)
    if rank == 0 and value is not None:
        tell(site=[call, file, line], value=value)


counted = 0  # values of this rank so far


def count_value(value):
    global counted
    if value is not None:
        counted += 1


def of_rank_0(own):
    """What rank 0 had in the same call when the test was recorded."""
    values = mutant.get("values") or []
    return values[counted - 1] if 0 < counted <= len(values) else own


def note(what):
    if what not in told:
        told.add(what)
        tell(**{what: True})


def changed():
    note("changed")


def unseen(bend):
    """Runs deadrank's own part of a mutated call. Trouble of its own makes the mutant invalid; the program goes on."""
    global busy
    busy = True
    try:
        bend()
    except Exception as trouble:
        tell(invalid=f"{type(trouble).__name__}: {trouble}"[:300])
    finally:
        busy = False


def copy_metadata(replacement, real):
    functools.update_wrapper(replacement, real)


# Calls in files that no test may reach

CALLS = {
    "all_reduce": "all_reduce", "reduce": "reduce", "broadcast": "broadcast", "all_gather": "all_gather",
    "all_gather_into_tensor": "all_gather", "gather": "gather", "scatter": "scatter",
    "reduce_scatter": "reduce_scatter", "reduce_scatter_tensor": "reduce_scatter", "all_to_all": "all_to_all",
    "all_to_all_single": "all_to_all", "all_gather_object": "all_gather_object", "gather_object": "gather_object",
    "scatter_object_list": "scatter_object_list", "backward": "backward", "zero_grad": "zero_grad",
    "clip_grad_norm_": "clip_grad_norm_", "set_epoch": "set_epoch", "manual_seed": "manual_seed",
    "load_state_dict": "load_state_dict",
}
OF_DISTRIBUTED = ("dist", "distributed", "c10d", "torch.distributed", "distributed_c10d")
NOT_ONLY_OF_DISTRIBUTED = ("backward", "zero_grad", "clip_grad_norm_", "set_epoch", "manual_seed", "load_state_dict")


def calls_in(file):
    """(call, first line, last line) of the calls by name; collectives where torch.distributed is named."""
    try:
        with open(file, encoding="utf-8") as text:
            tree = ast.parse(text.read())
    except (OSError, SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        name = node.func.attr
        owner = ast.unparse(node.func.value)
        if name in CALLS and (name in NOT_ONLY_OF_DISTRIBUTED or owner in OF_DISTRIBUTED):
            if name == "manual_seed" and owner not in ("torch", "torch.random"):
                continue
            yield CALLS[name], node.lineno, node.end_lineno


def main(files):
    found = [{"file": file, "call": call, "first": first, "last": last}
             for file in files for call, first, last in calls_in(file)]
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1:])
