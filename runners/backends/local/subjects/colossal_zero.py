# runners/backends/local/subjects/colossal_zero.py — The toy task under Colossal-AI's ZeRO, on the CPU over
# gloo. It knows nothing of faults. `colossalai.launch` takes no time-out: the process group is made without
# it.
import argparse
import datetime
import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.elastic.multiprocessing.errors import record

import colossal_on_cpu

colossal_on_cpu.install()

from colossalai.booster import Booster
from colossalai.booster.plugin import LowLevelZeroPlugin

import toy_task


def arguments():
    parser = argparse.ArgumentParser(description="Train a toy model under Colossal-AI's ZeRO.")
    parser.add_argument("--stage", type=int, choices=(1, 2), default=1, help="of ZeRO")
    toy_task.add_arguments(parser)
    return toy_task.overruled(parser.parse_args(), stage="ZERO_STAGE", width="HIDDEN_SIZE")


def save(booster, model, optimizer, options, step):
    place = os.path.join(options.checkpoint, f"step{step}")
    os.makedirs(place, exist_ok=True)
    booster.save_model(model, os.path.join(place, "model.pt"))
    booster.save_optimizer(optimizer, os.path.join(place, "optimizer.pt"))
    dist.barrier()
    if dist.get_rank() == 0:
        with open(os.path.join(options.checkpoint, "latest"), "w", encoding="utf-8") as file:
            file.write(str(step))


def restore(booster, model, optimizer, options):
    """The first step still to be done."""
    marker = os.path.join(options.checkpoint, "latest")
    if not options.checkpoint or not os.path.exists(marker):
        return 0
    with open(marker, encoding="utf-8") as file:
        step = int(file.read())
    place = os.path.join(options.checkpoint, f"step{step}")
    booster.load_model(model, os.path.join(place, "model.pt"))
    booster.load_optimizer(optimizer, os.path.join(place, "optimizer.pt"))
    return step + 1


@record
def main():
    options = arguments()
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=options.timeout))
    colossal_on_cpu.accelerator()
    torch.manual_seed(options.seed)
    model = toy_task.model(options.width)
    optimizer = torch.optim.SGD(model.parameters(), lr=options.learning_rate, momentum=0.9)
    booster = Booster(plugin=LowLevelZeroPlugin(stage=options.stage, precision="fp32"))
    model, optimizer, *_ = booster.boost(model, optimizer)
    first = restore(booster, model, optimizer, options)
    batches = toy_task.batches(options, dist.get_world_size(), dist.get_rank(), first)
    for step, (features, targets) in zip(range(first, options.steps), batches):
        time.sleep(options.step_seconds)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(features), targets)
        booster.backward(loss, optimizer)
        optimizer.step()
        toy_task.show(step, loss)
        if options.checkpoint and options.checkpoint_every and (step + 1) % options.checkpoint_every == 0:
            save(booster, model, optimizer, options, step)
    toy_task.leave()


if __name__ == "__main__":
    main()
    os._exit(0)  # as the other subjects that save: torch may abort once everything is done
