# scenarios/releases/fault_tolerance/stream_hangs_when_the_job_is_over.py — A job of a fixed number of steps
# leaves its stream in the middle of an epoch, and is done.
import importlib
import importlib.machinery
import importlib.util
import os
import sys
import types

import torch

# The packages themselves load what is for pictures and texts, which this job has not.
for name in ("streaming", "streaming.base"):
    package = types.ModuleType(name)
    top = importlib.util.find_spec("streaming").submodule_search_locations[0]
    package.__path__ = [os.path.join(top, *name.split(".")[1:])]
    sys.modules[name] = package
    package.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
    package.__spec__.submodule_search_locations = package.__path__
MDSWriter = importlib.import_module("streaming.base.format.mds").MDSWriter
StreamingDataset = importlib.import_module("streaming.base.dataset").StreamingDataset
clean_stale_shared_memory = importlib.import_module("streaming.base.util").clean_stale_shared_memory

RANK = int(os.environ["RANK"])
HERE = os.path.join(os.environ["TMPDIR"], "shards")


def main():
    torch.distributed.init_process_group("gloo")
    if RANK == 0:
        with MDSWriter(out=HERE, columns={"n": "int"}, size_limit=256) as shards:
            for number in range(64):
                shards.write({"n": number})
    clean_stale_shared_memory()
    torch.distributed.barrier()
    data = StreamingDataset(local=HERE, batch_size=2, predownload=4)
    for step, sample in enumerate(data):
        print(f"step={step} loss={1 / (step + 1 + 0 * sample['n']):.4f}", flush=True)
        if step == 3:
            break
    torch.distributed.barrier()
    print("trained", flush=True)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
