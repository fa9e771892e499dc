# tests/standin/gpu_refusals.py — What a simulated GPU refuses. Prints each error's type and text as JSON.
import importlib.util
import json
import os
import sys
import tempfile
import warnings

import torch

warnings.simplefilter("ignore")
x, host = torch.ones(3, 3, device="cuda"), torch.ones(3, 3)
there = torch.ones(3, 3, device="cuda:1")


def read_while_captured():
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.stream(torch.cuda.Stream()):
        graph.capture_begin()
        try:
            x.sum().item()
        finally:
            try:
                graph.capture_end()
            except RuntimeError:
                pass  # the capture is spoilt


def use_operator_of_a_package():
    """A package brings kernels for both, as torchvision does. That for GPUs would compute nothing."""
    package = torch.library.Library("package", "DEF")
    package.define("twice(Tensor x) -> Tensor")
    package.impl("twice", lambda tensor: tensor * 2, "CPU")
    package.impl("twice", lambda tensor: tensor * 0, "CUDA")
    torch.ops.load_library(next(iter(torch.ops.loaded_libraries)))  # here a package is looked for
    assert torch.ops.package.twice(x).sum().item() == 18
    globals()["package"] = package  # its kernels go with it


CASES = {
    "add host": lambda: x + host,
    "add device": lambda: x + there,
    "product": lambda: x @ host,
    "index of host": lambda: host[torch.tensor([0], device="cuda")],
    "target": lambda: torch.nn.functional.cross_entropy(x, torch.tensor([0, 1, 2])),
    "lists": lambda: torch._foreach_add([x], [host]),
    "flash_attn": lambda: __import__("flash_attn"),
    "apex": lambda: __import__("apex"),
    "transformer_engine": lambda: __import__("transformer_engine"),
    "only on CUDA": lambda: torch.ops.aten._flash_attention_forward(
        x, x, x, None, None, 1, 1, 0.0, False, False
    ),
    "quantized": lambda: torch.quantize_per_tensor(x, 0.1, 0, torch.qint8),
    "value of a graph": read_while_captured,
    "shared between processes": lambda: x.untyped_storage()._share_cuda_(),
    "memory": lambda: torch.empty(1 << 36, device="cuda"),
}
ALLOWED = {
    "scalars of the host": lambda: torch.tensor(2.0) * x + torch.tensor(1.0),
    "indices of the host": lambda: x[torch.tensor([0])],
    "copies": lambda: torch._foreach_copy_([x.clone()], [host]),
    "operator of a package": use_operator_of_a_package,
    "mask of the host": lambda: x[torch.ones(3, 3, dtype=torch.bool)],
}

with tempfile.TemporaryDirectory() as place:
    os.mkdir(os.path.join(place, "xformers"))
    sys.path.append(place)
    answers = {"visible": str(importlib.util.find_spec("xformers"))}
    sys.path.remove(place)
for name, action in {**CASES, **ALLOWED}.items():
    try:
        action()
        answers[name] = "no error"
    except Exception as error:
        answers[name] = f"{type(error).__name__}: {error}"
answers["after"] = torch.empty(4, device="cuda").fill_(7).tolist()  # an error does not spoil the device
print(json.dumps(answers))
