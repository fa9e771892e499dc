# inject/standin/operators/python/deadrank_operators/report.py — What the installed torch can and cannot do on
# simulated GPUs: `python -m deadrank_operators.report`. The exit code is 1 if a program for GPUs cannot run.
import importlib.metadata
import sys


def main():
    try:
        import torch
    except ImportError as trouble:
        return fail(f"{sys.executable} has no torch: {trouble}", "install torch, or name another Python")
    import deadrank_operators
    from deadrank_operators import catalog, refusals, written_out

    if not torch.version.cuda:
        return fail(
            f"torch {torch.__version__} was built without CUDA", "install torch's CUDA build from PyPI"
        )
    if not deadrank_operators.standin_is_loaded():
        return fail("the CUDA runtime of this process is not the stand-in", "run deadrank doctor --gpus N")
    way = deadrank_operators.install()
    try:
        count = torch.cuda.device_count()
        name = torch.cuda.get_device_name(0)
        gib = torch.cuda.mem_get_info(0)[1] / 2**30
        capability = ".".join(map(str, torch.cuda.get_device_capability(0)))
        difference = check()
    except Exception as trouble:
        return fail(f"torch {torch.__version__} does not run: {str(trouble).splitlines()[0]}", None)
    print(f"torch {torch.__version__}: {count} GPUs, {name}, {gib:.1f} GiB, capability {capability}")
    print_rows(rows(catalog, refusals, written_out, way))
    if difference:
        return fail(
            f"a training step differs from the CPU's: {difference}", "set DEADRANK_OPERATORS=dispatch"
        )
    print("  checked    a training step with AdamW has the CPU's loss and gradients, to the last bit")
    return 0


def fail(what, instead):
    print(f"deadrank: {what}" + (f"; {instead}" if instead else ""))
    return 1


def rows(catalog, refusals, written_out, way):
    names = {layout: catalog.operators_of(layout) for layout in catalog.LAYOUTS}
    computed, refused = names["strided"]
    refused = set(refused) - set(written_out.KERNELS)
    how = "compiled" if way == "compiled" else "a dispatch mode, about 40 µs each"
    yield "operators", f"{len(computed)} by torch's CPU kernels ({how}), {len(written_out.KERNELS)} written out"
    if way == "compiled":
        coo, compressed = len(names["coo"][0]), len(names["compressed"][0])
        yield "sparse", f"{coo} operators of COO tensors, {compressed} of CSR and its like"
    else:
        yield "sparse", "refused; install g++"
    yield "refused", f"{len(refused)} operators without a CPU kernel, own extensions, CUDA IPC"
    yield "compile", "torch.compile uses aot_eager instead of inductor"
    if version := installed_version("triton"):
        yield "triton", f"kernels of triton {version} run by its interpreter; Gluon and inline assembly are refused"
    yield "values", "the CPU's: no TF32, and random numbers are not Philox's"
    for package, advice in refusals.PACKAGES.items():
        if version := installed_version(package):
            yield "hidden", f"{package} {version}. {advice}"


def installed_version(package):
    for name in (package, package.replace("_", "-")):
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return None


def print_rows(all_rows):
    for name, text in all_rows:
        print(f"  {name:10} {text}")


def check():
    """Trains one step on both devices, and returns what differs."""
    import torch

    results = []
    for device in ("cpu", "cuda"):
        torch.manual_seed(0)
        layers = torch.nn.Linear(8, 16), torch.nn.LayerNorm(16), torch.nn.GELU(), torch.nn.Linear(16, 4)
        model = torch.nn.Sequential(*layers).to(device)
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        batch = torch.linspace(-1, 1, 32).view(4, 8).to(device)
        loss = torch.nn.functional.cross_entropy(model(batch), torch.arange(4, device=device))
        loss.backward()
        optimizer.step()
        parts = {"loss": loss.detach().cpu()}
        parts.update({f"gradient of {name}": one.grad.cpu() for name, one in model.named_parameters()})
        parts.update({name: one.detach().cpu() for name, one in model.named_parameters()})
        results.append(parts)
    return ", ".join(name for name in results[0] if not torch.equal(results[0][name], results[1][name]))


if __name__ == "__main__":
    sys.exit(main())
