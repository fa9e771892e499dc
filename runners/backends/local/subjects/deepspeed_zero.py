# runners/backends/local/subjects/deepspeed_zero.py — The toy task under DeepSpeed ZeRO, on the CPU over gloo.
# It knows nothing of faults. DeepSpeed's shared-memory operator is left out: compiling it takes 80 s at the
# first start.
import argparse
import datetime
import os
import time

import torch
from torch import nn
from torch.distributed.elastic.multiprocessing.errors import record

import toy_task

os.environ.setdefault("DS_ACCELERATOR", "cpu")
import deepspeed
import deepspeed.ops

deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False


def arguments():
    parser = argparse.ArgumentParser(description="Train a toy model under DeepSpeed ZeRO.")
    parser.add_argument("--stage", type=int, choices=(0, 1, 2, 3), default=1, help="of ZeRO")
    toy_task.add_arguments(parser)
    return toy_task.overruled(parser.parse_args(), stage="ZERO_STAGE", width="HIDDEN_SIZE")


def engine_of(options):
    config = {
        "train_micro_batch_size_per_gpu": options.batch,
        "gradient_accumulation_steps": 1,
        "zero_optimization": {"stage": options.stage, "stage3_param_persistence_threshold": 0},
        "zero_allow_untested_optimizer": True,
        "gradient_clipping": 0.0,  # DeepSpeed clips by default
        "steps_per_print": 10**9,
    }
    model = toy_task.model(options.width)
    optimizer = torch.optim.SGD(model.parameters(), lr=options.learning_rate, momentum=0.9)
    return deepspeed.initialize(model=model, optimizer=optimizer, config=config)[0]


def restore(engine, options):
    """The first step still to be done."""
    if not os.path.exists(os.path.join(options.checkpoint, "latest")):
        return 0
    return engine.load_checkpoint(options.checkpoint)[1]["step"] + 1


@record
def main():
    options = arguments()
    timeout = datetime.timedelta(seconds=options.timeout)
    deepspeed.init_distributed("gloo", timeout=timeout, verbose=False)
    torch.manual_seed(options.seed)
    engine = engine_of(options)
    first = restore(engine, options) if options.checkpoint else 0
    ranks, rank = torch.distributed.get_world_size(), torch.distributed.get_rank()
    batches = toy_task.batches(options, ranks, rank, first)
    for step, (features, targets) in zip(range(first, options.steps), batches):
        time.sleep(options.step_seconds)
        loss = nn.functional.mse_loss(engine(features), targets)
        engine.backward(loss)
        engine.step()
        toy_task.show(step, loss)
        if options.checkpoint and options.checkpoint_every and (step + 1) % options.checkpoint_every == 0:
            engine.save_checkpoint(options.checkpoint, f"step{step}", client_state={"step": step})
    toy_task.leave()


if __name__ == "__main__":
    main()
