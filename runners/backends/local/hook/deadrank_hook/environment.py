# runners/backends/local/hook/deadrank_hook/environment.py — What a rank sees when it starts: variables,
# package versions, arguments. The plan's own variables are set here, before anything of the subject is
# imported.
import importlib.metadata
import os
import platform
import sys

SEEN = (
    "RANK",
    "WORLD_SIZE",
    "LOCAL_RANK",
    "LOCAL_WORLD_SIZE",
    "GROUP_RANK",
    "MASTER_ADDR",
    "MASTER_PORT",
    "PYTHONHASHSEED",
)
SEEN_BEGINNINGS = (
    *("NCCL_", "GLOO_", "TORCH_", "TORCHELASTIC_", "OMP_", "CUDA_", "MKL_", "UCX_"),
    *("TP_", "DS_", "ZERO_", "HIDDEN_"),
)
PACKAGES = (
    *("torch", "numpy", "deepspeed", "megatron-core", "colossalai", "transformers", "safetensors"),
    *("accelerate", "datasets", "lightning-utilities", "litdata", "mosaicml-streaming", "pyarrow", "fsspec"),
    *("pytorch-lightning", "ray", "tensordict", "torchdata", "torchmetrics", "webdataset"),
)


def apply(hook):
    """Sets the variables and package directories that the plan gives to this rank alone."""
    mine = hook.plan.get("environment", {}).get(str(hook.slot), {})
    os.environ.update(mine.get("set", {}))
    for name in mine.get("unset", ()):
        os.environ.pop(name, None)
    first = mine.get("path", [])
    sys.path[:0] = first
    if first:  # the processes that the rank starts find the same
        os.environ["PYTHONPATH"] = os.pathsep.join([*first, os.environ.get("PYTHONPATH", "")])
    change_interpreter(mine.get("python", ""))


def original_arguments():
    """What the interpreter was called with: sys.orig_argv[1:] of Python 3.10 and later."""
    with open("/proc/self/cmdline", "rb") as line:
        return [os.fsdecode(argument) for argument in line.read().split(b"\0")[1:-1]]


def change_interpreter(python):
    """Runs this rank under another torch: restarts the same process before it has done anything."""
    if python and os.environ.get("DEADRANK_PYTHON_OF_RANK") != python:
        os.environ["DEADRANK_PYTHON_OF_RANK"] = python
        os.environ.pop("PYTHONHOME", None)
        os.execv(python, [python, *original_arguments()])


def versions():
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def lines(table):
    return "\n".join(f"{name}={value}" for name, value in sorted(table.items()))


def is_job_variable(name):
    if name == "TORCHELASTIC_ERROR_FILE":  # a path that differs on each rank
        return False
    return name in SEEN or name.startswith(SEEN_BEGINNINGS)


def record(hook, told=()):
    seen = {name: value for name, value in os.environ.items() if is_job_variable(name)}
    seen.update(told)
    local = os.environ.get("LOCAL_RANK", "")
    hook.evidence.write(
        "rank.start",
        pid=os.getpid(),
        node=0,
        gpu=int(local) if local.isdigit() else 0,
        host=platform.node(),
        versions=lines(versions()),
        environment=lines(seen),
    )
    if not told:  # else they belong to the process that spawned it
        hook.evidence.write("rank.config", name="arguments", value=" ".join(original_arguments()))
