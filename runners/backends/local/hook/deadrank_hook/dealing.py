# runners/backends/local/hook/deadrank_hook/dealing.py — Into how many shares a loader deals its samples out. Found in
# what all loaders have in common and not by the names of their classes: an object in the loader that holds a rank and
# a number of ranks, code that asks for both, or every n-th index.
import re

SIZE = re.compile(r"_*(num_replicas|num_processes|num_ranks|num_shards|(\w+_)?world_size|(data_parallel|dp)_size)")
RANK = re.compile(r"_*(process_index|shard_id|shard_index|(\w+_)?rank)")
INSIDE = re.compile(r"data|sampl|load|source|shard|distrib|pipe|iter|stage")
ASKS_RANK = {"get_rank", "rank", "RANK", "process_index", "local_rank", "LOCAL_RANK"}
ASKS_SIZE = {"get_world_size", "world_size", "world", "WORLD_SIZE", "num_replicas", "num_processes"}
OBJECTS = 48  # that are looked at
PLAIN = (int, float, str, bytes, bool, dict, set, type(None), type)


def shares_of(iterator, world):
    """The number of shares, and whether the loader shuffles. 0: all ranks read the same samples, or draw them with
    replacement. 1: the loader shuffles, deals out to its workers, or states one share; ranks that average their
    gradients then need shares of their own."""
    found, shuffled, to_workers = 0, False, False
    for one in objects_in(iterator):
        own = vars(one) if hasattr(one, "__dict__") else one._asdict() if hasattr(one, "_asdict") else {}
        if own.get("replacement") is True or own.get("weights") is not None:
            return 0, False
        if found < 2:
            found = stated(own, world) or strided(own, world) or found
        names = names_in(type(one))
        if not found and names & ASKS_RANK and names & ASKS_SIZE:
            found = world
        shuffled |= shuffles(one)
        to_workers |= "get_worker_info" in names
    return found or int(shuffled or to_workers), shuffled


def shuffles(sampler):
    return getattr(sampler, "shuffle", None) is True or any(one.__name__ == "RandomSampler" for one in type(sampler).__mro__)


def stated(own, world):
    """1: one share, which all ranks read, as stages of a pipeline do."""
    if not any(RANK.fullmatch(name) for name, value in own.items() if type(value) is int):
        return 0
    sizes = [value for name, value in own.items() if type(value) is int and SIZE.fullmatch(name)]
    return next((size for size in sizes if 1 <= size <= world), 0)


def strided(own, world):
    """Of a torch Subset that takes every n-th sample."""
    indices = own.get("indices")
    try:
        first = [int(indices[place]) for place in range(4)]
    except (TypeError, ValueError, IndexError, KeyError):
        return 0
    steps = {after - before for before, after in zip(first, first[1:])}
    step = steps.pop()
    return step if not steps and 2 <= step <= world else 0


def objects_in(iterator):
    """The loader's sampler and dataset, and what these are made of, outermost first."""
    left = [getattr(iterator, "_index_sampler", None), getattr(iterator, "_dataset", None)]
    seen = set()
    while left and len(seen) < OBJECTS:
        one = left.pop(0)
        if id(one) in seen or one is None or type(one).__module__.split(".")[0] in ("torch.Tensor", "numpy", "pyarrow"):
            continue
        seen.add(id(one))
        yield one
        own = vars(one) if hasattr(one, "__dict__") else {}
        for name, value in list(own.items()):
            if INSIDE.search(name) and not isinstance(value, PLAIN):
                many = value[:8] if isinstance(value, (list, tuple)) and not hasattr(value, "_asdict") else [value]
                left += [each for each in many if not isinstance(each, PLAIN)]


def names_in(kind):
    """What the code asks for that gives the next sample. Torch's own asks for no rank there."""
    names, left = set(), []
    for home in kind.__mro__:
        iterate = vars(home).get("__iter__")
        if iterate is not None and home.__module__.split(".")[0] != "builtins":
            left.append(getattr(iterate, "__code__", None))
            # A method that the loop calls, such as one that lists the files of this rank.
            called = getattr(left[-1], "co_names", ())
            methods = [vars(home).get(name) for name in called]
            left += [getattr(one, "__code__", None) for one in methods]
            break
    while left:
        code = left.pop()
        if code is None:
            continue
        names |= {*code.co_names, *code.co_freevars}
        for constant in code.co_consts:
            if isinstance(constant, str):
                names.add(constant)
            elif hasattr(constant, "co_names"):
                left.append(constant)
    return names


def base_of(dataset, index):
    """The sample's index in the whole data, where torch's Subset or another with `indices` numbers a part anew."""
    while hasattr(dataset, "indices") and hasattr(dataset, "dataset"):
        try:
            index = int(dataset.indices[index])
        except (TypeError, ValueError, IndexError, KeyError):
            break
        dataset = dataset.dataset
    return index


def length_of(value):
    try:
        return len(value)
    except (TypeError, NotImplementedError):
        return 0
