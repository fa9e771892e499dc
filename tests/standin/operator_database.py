# tests/standin/operator_database.py — Every operator of torch's own test database, computed on the CPU and on
# a simulated GPU: the same sample, forward and backward, in place and into given results. Bits are compared.
#
#   equal    all bits are the same
#   close    within torch.testing's tolerances
#   refused  the simulated GPU raises an error where the CPU does not
#   wrong    another value, shape, type or device; or the process ended
#
# Entries that promise no value (empty_like), and those whose samples the CPU refuses, are counted apart.
import argparse
import collections
import json
import os
import random
import subprocess
import sys
import time
import warnings

parser = argparse.ArgumentParser()
parser.add_argument("--only", help="entries whose name contains this")
parser.add_argument("--samples", type=int, default=4, help="of each entry, at most")
parser.add_argument("--part", default="0/1", help="i/n: every n-th entry, from the i-th on")
parser.add_argument("--out", help="a file for all answers, as JSON")
parser.add_argument("--worker", type=int, help=argparse.SUPPRESS)
parser.add_argument("--skip", type=int, default=0, help=argparse.SUPPRESS)
options = parser.parse_args()

warnings.simplefilter("ignore")
os.environ["DEADRANK_OPERATORS_RNG"] = "cpu"  # so that random operators can be compared
import torch
from torch.utils._pytree import tree_leaves, tree_map

if options.worker is not None:  # the database is slow to import, and initialises CUDA
    import types
    import unittest

    import numpy

    # Torch's tests need it, but the database does not.
    sys.modules.setdefault("expecttest", types.SimpleNamespace(TestCase=unittest.TestCase))
    from torch.testing._internal.common_methods_invocations import op_db

UNINITIALISED = ("empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided")
RANKING = ("equal", "close", "refused", "wrong")


Call = collections.namedtuple("Call", "input args kwargs")


class Refused(Exception):
    pass


class Skipped(Exception):
    pass


def name_of(entry):
    return entry.name + ("." + entry.variant_test_name if entry.variant_test_name else "")


def to_device(value):
    """Copies the whole memory behind a tensor: operators may reach beyond what a view shows."""
    if isinstance(value, torch.Tensor) and value.is_cuda:
        return value
    if isinstance(value, torch.Tensor):
        copy = value.detach()
        if copy.layout != torch.strided or copy.is_conj() or copy.is_neg():
            copy = copy.to("cuda")
        else:
            memory = (
                torch.empty(0, dtype=torch.uint8).set_(copy.untyped_storage()).to("cuda").untyped_storage()
            )
            place = copy.storage_offset(), copy.shape, copy.stride()
            copy = torch.empty(0, dtype=copy.dtype, device="cuda").set_(memory, *place)
        return copy.requires_grad_(value.requires_grad)
    if isinstance(value, torch.device) or value == "cpu" and isinstance(value, str):
        return torch.device("cuda")
    return value


def plain(tensor):
    tensor = tensor.detach().to("cpu")
    if tensor.layout != torch.strided:
        tensor = tensor.to_dense()
    tensor = tensor.resolve_conj().resolve_neg()
    if tensor.dtype == torch.complex32:
        return tensor.to(torch.complex64)
    return tensor.float() if tensor.dtype.itemsize == 1 and tensor.is_floating_point() else tensor


def compare_tensors(host, device, values=True):
    """Takes the CPU's tensor and the simulated GPU's, and returns a verdict and what differs."""
    if not isinstance(device, torch.Tensor):
        return "wrong", f"{type(device).__name__} instead of a tensor"
    if device.device.type != "cuda":
        return "wrong", f"the result is on {device.device}"
    if host.shape != device.shape or host.dtype != device.dtype or host.layout != device.layout:
        return "wrong", f"{device.shape}, {device.dtype} instead of {host.shape}, {host.dtype}"
    if not values:
        return "equal", ""
    host, device = plain(host), plain(device)
    if torch.equal(torch.isnan(host), torch.isnan(device)) and torch.equal(
        torch.nan_to_num(host, nan=0.0, posinf=float("inf"), neginf=float("-inf")),
        torch.nan_to_num(device, nan=0.0, posinf=float("inf"), neginf=float("-inf")),
    ):
        return "equal", ""
    try:
        torch.testing.assert_close(device, host, equal_nan=True)
        return "close", ""
    except AssertionError as difference:
        return "wrong", str(difference).strip().replace("\n", " ")[:160]


def compare(host, device, values=True):
    hosts, devices = tree_leaves(host), tree_leaves(device)
    if len(hosts) != len(devices):
        return "wrong", f"{len(devices)} results instead of {len(hosts)}"
    worst = ("equal", "")
    for one, other in zip(hosts, devices):
        if isinstance(one, torch.Tensor):
            found = compare_tensors(one, other, values)
        else:
            same = one == other or (one != one and other != other)  # the second: both are NaN
            found = ("equal", "") if same or not values else ("wrong", f"{other} instead of {one}")
        worst = max(worst, found, key=lambda verdict: RANKING.index(verdict[0]))
    return worst


def seeded(function, sample, **more):
    torch.manual_seed(5)
    random.seed(5)
    numpy.random.seed(5)
    return function(sample.input, *sample.args, **{**sample.kwargs, **more})


def run_both(function, host_sample, device_sample, **more):
    """Returns both results. An error of the CPU skips, and one of the simulated GPU alone refuses."""
    try:
        host = seeded(function, host_sample, **more.get("host", {}))
    except Exception as trouble:
        raise Skipped(str(trouble)) from trouble
    try:
        device = seeded(function, device_sample, **more.get("device", {}))
    except Exception as trouble:
        raise Refused(f"{type(trouble).__name__}: {str(trouble).strip()[:200]}") from trouble
    return host, device


def tensors_with_gradient(value):
    return [one for one in tree_leaves(value) if isinstance(one, torch.Tensor) and one.requires_grad]


def gradients(results, sample):
    outputs = [one for one in tensors_with_gradient(results) if one.is_floating_point() or one.is_complex()]
    inputs = tensors_with_gradient((sample.input, sample.args, sample.kwargs))
    if not outputs or not inputs:
        return []
    torch.manual_seed(6)
    sums = [(one if one.layout == torch.strided else one.to_dense()).abs().sum() for one in outputs]
    return [one for one in torch.autograd.grad(sums, inputs, allow_unused=True) if one is not None]


def detached(sample):
    def copy(value):
        return value.detach().clone() if isinstance(value, torch.Tensor) else value

    return Call(*tree_map(copy, (sample.input, tuple(sample.args), dict(sample.kwargs))))


def on_device(sample):
    return Call(*tree_map(to_device, (sample.input, tuple(sample.args), dict(sample.kwargs))))


def check_sample(entry, sample, with_gradient):
    """Yields a verdict and what it is about, for each way to call the operator."""
    values = entry.name not in UNINITIALISED
    device_sample = on_device(sample)
    host, device = run_both(entry, sample, device_sample)
    named = [one.device if isinstance(one, torch.Tensor) else one for one in tree_leaves(device_sample)]
    if torch.device("cuda", 0) not in named and torch.device("cuda") not in named:
        return  # the sample names no device, so both results are the CPU's
    yield *compare(host, device, values), "forward"
    if with_gradient and values:
        try:
            wanted = gradients(host, sample)
        except Exception:
            wanted = []
        if wanted:
            try:
                found = gradients(device, device_sample)
            except Exception as trouble:
                raise Refused(
                    f"backward: {type(trouble).__name__}: {str(trouble).strip()[:200]}"
                ) from trouble
            yield *compare(wanted, found), "backward"
    in_place = entry.inplace_variant
    if in_place and values and isinstance(sample.input, torch.Tensor) and not sample.broadcasts_input:
        host_sample = detached(sample)
        device_sample = on_device(host_sample)
        try:
            run_both(in_place, host_sample, device_sample)
            yield *compare(host_sample.input, device_sample.input), "in place"
        except Skipped:
            pass
    if entry.supports_out and values and isinstance(host, torch.Tensor):
        host_sample = detached(sample)
        device_sample = on_device(host_sample)
        outs = [torch.empty(0, dtype=host.dtype, device=device) for device in ("cpu", "cuda")]
        try:
            run_both(entry, host_sample, device_sample, host={"out": outs[0]}, device={"out": outs[1]})
            yield *compare(outs[0], outs[1]), "out="
        except Skipped:
            pass


def type_for(entry):
    if torch.float32 in entry.dtypes:
        return torch.float32
    return sorted(entry.dtypes, key=str)[-1] if entry.dtypes else None


def check(entry, samples_most):
    """Takes an entry of the database, and returns its verdict and what is behind it."""
    dtype = type_for(entry)
    if dtype is None:
        return "no sample", "no type"
    with_gradient = dtype == torch.float32 and entry.supports_autograd
    try:
        torch.manual_seed(1)
        samples = []
        for sample in entry.sample_inputs("cpu", dtype, requires_grad=with_gradient):
            samples.append(sample)
            if len(samples) == samples_most:
                break
    except Exception as trouble:
        return "no sample", str(trouble)[:120]
    worst, compared, why_not = ("equal", ""), False, "none"
    for sample in samples:
        try:
            for verdict, detail, way in check_sample(entry, sample, with_gradient):
                compared = True
                if RANKING.index(verdict) > RANKING.index(worst[0]):
                    worst = (verdict, f"{way}: {detail}" if detail else way)
        except Refused as trouble:
            compared = True
            if worst[0] != "wrong":
                worst = ("refused", str(trouble))
        except Skipped as trouble:
            why_not = str(trouble)[:120]
    if not compared:
        return "no sample", why_not
    if entry.name in UNINITIALISED and worst[0] == "equal":
        return "no value", ""
    return worst


def work(options):
    """The worker: writes each entry's name, and then its answer, as lines of JSON."""
    torch.set_num_threads(1)
    part, parts = map(int, options.part.split("/"))
    entries = [entry for entry in op_db if not options.only or options.only in name_of(entry)][part::parts]
    with os.fdopen(options.worker, "w", buffering=1) as answers:
        for position in range(options.skip, len(entries)):
            entry = entries[position]
            answers.write(json.dumps([position, name_of(entry)]) + "\n")
            try:
                verdict, detail = check(entry, options.samples)
            except NotImplementedError as trouble:  # the sample itself cannot be on a simulated GPU
                verdict, detail = "refused", str(trouble)[:200]
            except Exception as trouble:
                verdict, detail = "wrong", f"the check failed: {type(trouble).__name__}: {trouble}"[:200]
            answers.write(json.dumps([position, name_of(entry), verdict, detail]) + "\n")


def run_workers():
    """Yields name, verdict and detail of each entry. A worker that ends early is replaced."""
    skip = 0
    while True:
        reading, writing = os.pipe()
        command = [sys.executable, *sys.argv, "--worker", str(writing), "--skip", str(skip)]
        worker = subprocess.Popen(command, pass_fds=[writing])
        os.close(writing)
        begun = None
        with os.fdopen(reading) as lines:
            for line in lines:
                position, name, *answer = json.loads(line)
                begun = None if answer else name
                skip = position + 1
                if answer:
                    yield name, *answer
        code = worker.wait()
        if begun is None:
            if code != 0:
                raise SystemExit(f"the worker failed before its first entry: exit code {code}")
            return
        yield begun, "wrong", f"the process ended with code {code}"


def report(options):
    began = time.monotonic()
    answers = collections.defaultdict(dict)
    for name, verdict, detail in run_workers():
        answers[verdict][name] = detail
    if options.out:
        with open(options.out, "w") as file:
            json.dump({"torch": torch.__version__, "answers": answers}, file, indent=1, sort_keys=True)
    counts = {verdict: len(names) for verdict, names in answers.items()}
    words = ", ".join(f"{counts.get(one, 0)} {one}" for one in (*RANKING, "no value", "no sample"))
    print(f"torch {torch.__version__}: {sum(counts.values())} entries, {words}")
    for verdict in ("wrong", "refused"):
        for name, detail in sorted(answers[verdict].items()):
            print(f"  {verdict}  {name}: {detail}")
    print(f"  {time.monotonic() - began:.0f} s", file=sys.stderr)
    sys.exit(1 if counts.get("wrong") else 0)


if options.worker is None:
    report(options)
else:
    work(options)
