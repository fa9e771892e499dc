# sim/managed/python/deadrank/left.py — Which tensors the files hold that a run leaves. Two runs that train alike
# write files that differ in their bytes: archives hold times, pickles hold paths. So files are compared by the type,
# the shape and the values of each tensor. Nothing of the program is imported or called: classes that are neither
# torch's nor numpy's are read as plain containers.
import hashlib
import io
import json
import os
import pickle
import shutil
import types
import warnings
import zipfile

KNOWN = ("torch", "numpy", "ml_dtypes")
PLAIN = {
    ("collections", "OrderedDict"),
    ("collections", "defaultdict"),
    ("collections", "deque"),
    ("collections", "Counter"),
    ("_codecs", "encode"),
    ("copyreg", "_reconstructor"),
    ("builtins", "object"),
    *(("builtins", name) for name in ("set", "frozenset", "dict", "list", "tuple", "bytearray", "complex", "slice")),
    *(("builtins", name) for name in ("range", "int", "float", "str", "bytes", "bool")),
}
DEEPEST = 64  # containers within containers


def answer(request_file):
    """Reads {"files": [path, …], "spoilt": {path: what the simulated disk holds}, "temporary": the run's
    own directory, "answer": path} and writes {path: {"tensors": {name: digest}}}, {path: {"trouble": why it cannot be
    read}}, {path: {"gone": true}} or {path: {"other": what it is}} to the last."""
    with open(request_file, encoding="utf-8") as file:
        request = json.load(file)
    os.environ["DEADRANK_TEMPORARY"] = request["temporary"]  # where versions of files are kept
    said = {path: examine(path, request["spoilt"], request["answer"] + ".copies") for path in request["files"]}
    with open(request["answer"], "w", encoding="utf-8") as file:
        json.dump(said, file)


def examine(path, spoilt, copies):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            there = shown(path, spoilt, copies)
            if there != path and not os.path.exists(there):
                return {"gone": True}
            return {"tensors": named(read(there))}
    except NotTensors as no:
        return {"other": str(no)}
    except Exception as trouble:
        first = (str(trouble).strip().splitlines() or [""])[0][:200]
        return {"trouble": f"{type(trouble).__name__}: {first}" if first else type(trouble).__name__}


class NotTensors(Exception):
    """The file is of another kind: a log, a table, source text."""


# What the disk holds


def shown(path, spoilt, copies):
    """The path, or that of a copy in which faults of the disk have done what readers would find."""
    files = files_of(path)
    if not any(file in spoilt for file in files):
        return path
    place = os.path.join(copies, str(len(os.listdir(copies)) if os.path.isdir(copies) else 0))
    if path.endswith(os.sep):
        shutil.copytree(path, place)
    else:
        os.makedirs(place)
        shutil.copy2(path, place)
    for file in files:
        if file in spoilt:
            harm(os.path.join(place, os.path.basename(file)), spoilt[file])
    return place + os.sep if path.endswith(os.sep) else os.path.join(place, os.path.basename(path))


def files_of(path):
    return [os.path.join(path, name) for name in sorted(os.listdir(path))] if path.endswith(os.sep) else [path]


def harm(file, said):
    from .observers import spoil

    if said.get("there", True):
        spoil(file, said)
    else:
        os.remove(file)


# Reading


def read(path):
    if path.endswith(os.sep):
        return read_distributed(path)
    with open(path, "rb") as file:
        head = file.read(16)
    if head.startswith(b"PK\x03\x04"):
        return read_archive(path)
    if head.startswith(b"\x93NUMPY"):
        return read_array(path)
    if head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return read_pickle(path)
    if head[8:9] == b"{" and int.from_bytes(head[:8], "little") < os.path.getsize(path):
        return read_safetensors(path)
    # Its name promises tensors, and its bytes hold none: cut to nothing, or overwritten.
    if path.endswith((".pt", ".pth", ".ckpt", ".safetensors", ".distcp", ".npz", ".npy", ".pkl")):
        raise ValueError("no file of tensors" if head else "the file is empty")
    raise NotTensors("no file of tensors")


def read_archive(path):
    if path.endswith(".npz"):
        import numpy

        with numpy.load(path, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    try:
        with zipfile.ZipFile(path) as archive:
            if not any(name.endswith("data.pkl") for name in archive.namelist()):
                raise NotTensors("an archive of something else")
    except zipfile.BadZipFile:
        pass  # torch says what is wrong with it
    import torch

    return torch.load(path, map_location="cpu", weights_only=False, pickle_module=lenient)


def read_array(path):
    import numpy

    return numpy.load(path, allow_pickle=False)


def read_pickle(path):
    """torch's old format is a row of pickles too."""
    import torch

    try:
        return torch.load(path, map_location="cpu", weights_only=False, pickle_module=lenient)
    except RuntimeError as no:
        if "Invalid magic number" not in str(no):
            raise
    with open(path, "rb") as file:
        return lenient.load(file)


def read_safetensors(path):
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        try:
            head = json.loads(file.read(size))
        except ValueError as no:
            raise NotTensors("no file of tensors") from no
        rest = file.read()
    tensors = {}
    for name, said in head.items():
        if name == "__metadata__":
            continue
        begin, end = said["data_offsets"]
        if end > len(rest):
            raise ValueError(f"the file ends within {name}")
        tensors[name] = Digest(f"{said['dtype']} {said['shape']}", rest[begin:end])
    return tensors


def read_distributed(path):
    """All tensors whole, however they were spread over files."""
    import torch.distributed.checkpoint as distributed
    from torch.distributed.checkpoint.default_planner import _EmptyStateDictLoadPlanner
    from torch.distributed.checkpoint.state_dict_loader import _load_state_dict

    state = {}
    _load_state_dict(
        state, storage_reader=distributed.FileSystemReader(path), planner=_EmptyStateDictLoadPlanner(), no_dist=True
    )
    return state


class Stranger(dict):
    """In place of an object of a class that is not looked for."""

    def __init__(self, *told, **said):
        super().__init__(said)
        if told:
            self["told"] = list(told)

    def __setstate__(self, state):
        self["state"] = state

    def append(self, one):
        self.setdefault("items", []).append(one)

    def extend(self, many):
        self.setdefault("items", []).extend(many)

    def add(self, one):
        self.append(one)

    def __call__(self, *told, **said):
        return Stranger(*told, **said)

    def __hash__(self):
        return id(self)


class Unpickler(pickle.Unpickler):
    def find_class(self, module, name):
        if module.split(".")[0] in KNOWN or (module, name) in PLAIN:
            return super().find_class(module, name)
        return type(name.rpartition(".")[2], (Stranger,), {})


def load(file, **settings):
    return Unpickler(file, **settings).load()


def loads(data, **settings):
    return load(io.BytesIO(data), **settings)


lenient = types.ModuleType("pickle")  # torch asks a module for these
lenient.Unpickler, lenient.load, lenient.loads = Unpickler, load, loads
lenient.UnpicklingError, lenient.PickleError = pickle.UnpicklingError, pickle.PickleError


# Names and values


class Digest:
    def __init__(self, form, data):
        state = hashlib.blake2b(form.encode() + b"\0", digest_size=8)
        state.update(data)
        self.text = state.hexdigest()


def named(state):
    """{"model.weight": digest}."""
    tensors, known = {}, set()

    def walk(name, value, depth):
        digest = digest_of(value)
        if digest:
            tensors[name] = digest
            return
        if depth > DEEPEST or id(value) in known:
            return
        parts = parts_of(value)
        if parts:
            known.add(id(value))
        for part, inner in parts:
            walk(f"{name}.{part}" if name else str(part), inner, depth + 1)

    walk("", state, 0)
    return tensors


def parts_of(value):
    if isinstance(value, dict):
        return [(plain(key), inner) for key, inner in value.items()]
    if isinstance(value, (list, tuple)) or type(value).__name__ == "deque":
        return list(enumerate(value))
    inner = getattr(value, "__dict__", None)
    return list(inner.items()) if isinstance(inner, dict) and not isinstance(value, type) else []


def plain(key):
    return key if isinstance(key, (str, int, bool)) else repr(key)[:80]


def digest_of(value):
    import torch

    if isinstance(value, Digest):
        return value.text
    if isinstance(value, torch.Tensor):
        value = value.to_local() if hasattr(value, "to_local") else value
        value = value.detach()
        form = f"{value.dtype} {list(value.shape)}"
        if value.is_quantized:
            value = value.int_repr()
        if value.layout != torch.strided:
            value = value.to_dense()
        value = value.cpu().contiguous()
        return Digest(form, value.reshape(-1).view(torch.uint8).numpy().tobytes()).text
    if type(value).__module__ == "numpy" and hasattr(value, "tobytes"):
        if value.dtype.hasobject:
            return ""
        return Digest(f"{value.dtype} {list(value.shape)}", value.tobytes()).text
    return ""
