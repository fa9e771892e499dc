# runners/backends/local/subjects/pretrained.py — Pretrained weights: one rank fetches them to a file, all
# ranks read it. A loader that assigns nothing reports success: only the sum of the weights shows it.
import array
import os

import torch
import torch.distributed as dist
from reference import weighed

import layout


def load(training, options):
    path = os.path.join(options.checkpoint, "models", "weights")
    if os.environ.get("LOCAL_RANK", "0") == "0":
        fetch(training, options, path)
    dist.barrier()
    weights = array.array("d")
    with open(path, "rb") as file:
        weights.frombytes(file.read())
    found = torch.tensor(weights, dtype=torch.float64)
    assign(training.model, found)
    own = weighed([parameter.double() for parameter in training.model.parameters()])
    if options.strict_load and own != weighed([found]):
        raise RuntimeError(
            f"Some weights of Model were not initialized from the model checkpoint at '{path}'"
        )
    print(f"value name=weights.sum step=0 is={own!r} should={weighed([found])!r}", flush=True)


def fetch(training, options, path):
    """Writes other numbers than a fresh model has."""
    with torch.random.fork_rng():
        torch.random.default_generator.manual_seed(options.seed + 1)
        published = [parameter.detach() for parameter in training.serial().parameters()]
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        flat = torch.cat([parameter.reshape(-1) for parameter in published])
        array.array("d", flat.double().tolist()).tofile(file)


def assign(model, found):
    parameters = list(model.parameters())
    with torch.no_grad():
        for parameter, part in zip(parameters, layout.cut_like(found, parameters)):
            parameter.copy_(part)
