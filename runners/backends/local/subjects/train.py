# runners/backends/local/subjects/train.py — A small, real training program over gloo, started by torchrun or
# by hand. It knows nothing of faults. It prints its configuration and one line per step: `step=3
# loss=0.123456`.
import argparse
import atexit
import importlib
import os
import sys
import time

import torch
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

import audit
import checkpoint
import dropout
import layout
import pretrained
import reference
import startup
import toy_task

MODES = {  # imported on demand: some need a newer torch
    "context": "sequence.ContextParallel",
    "ddp": "parallelism.Wrapped",
    "experts": "experts.ExpertParallel",
    "fsdp": "fully_sharded.FullySharded",
    "manual": "parallelism.Replicated",
    "mixed": "precision.MixedPrecision",
    "pipeline": "stages.Pipeline",
    "reshard": "reshard.Resharded",
    "tensor": "parallelism.TensorParallel",
    "zero": "parallelism.Sharded",
}


def maker_of(mode):
    module, maker = MODES[mode].split(".")
    return getattr(importlib.import_module(module), maker)


def arguments():
    parser = argparse.ArgumentParser(description="Train a toy model over several ranks.")
    parser.add_argument("--mode", choices=sorted(MODES), default="ddp")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument(
        "--step-seconds", type=float, default=0.0, help="how long a device would compute in each step"
    )
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=8)
    parser.add_argument("--batch", type=int, default=2, help="samples of a rank in a step")
    parser.add_argument("--samples", type=int, default=256)
    parser.add_argument("--buckets", type=int, default=2, help="manual: parts in which gradients are summed")
    parser.add_argument(
        "--stage", type=int, choices=(1, 2), default=1, help="zero: what is sharded besides the optimizer"
    )
    parser.add_argument("--cp-size", type=int, default=2, help="context: ranks that share a sequence")
    parser.add_argument("--exchange", choices=("ring", "all_to_all"), default="ring", help="context: how")
    parser.add_argument("--ep-size", type=int, default=2, help="experts: ranks that have different ones")
    parser.add_argument("--experts", type=int, default=8, help="experts: in all")
    parser.add_argument("--ranks-after", type=int, default=2, help="reshard: that go on after half-way")
    parser.add_argument("--tp-size", type=int, default=2, help="tensor: ranks that share one layer")
    parser.add_argument("--pp-size", type=int, default=2, help="pipeline: stages")
    parser.add_argument("--dp-size", type=int, default=0, help="manual: ranks that average; 0 = all")
    parser.add_argument("--micro-batches", type=int, default=1, help="parts of a batch")
    parser.add_argument("--loss-scale", type=int, default=64, help="mixed: the first one")
    parser.add_argument(
        "--each-for-itself", action="store_true", help="mixed: each rank decides whether a step counts"
    )
    parser.add_argument("--dropout", type=int, default=0, help="one feature in so many; 0 = none")
    parser.add_argument("--learning-rate", type=float, default=0.01)
    parser.add_argument("--rate-scaling", choices=("none", "sqrt"), default="none")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--in-order", action="store_true", help="do not shuffle the samples")
    parser.add_argument("--timeout", type=float, default=0.0, help="seconds; 0 leaves the library's default")
    parser.add_argument("--checkpoint", default="", help="directory of the checkpoints")
    parser.add_argument("--checkpoint-every", type=int, default=0)
    parser.add_argument(
        "--resume", action="store_true", help="go on from the latest checkpoint, where there is one"
    )
    parser.add_argument("--load", choices=("alone", "announced", "agreed"), default="alone")
    parser.add_argument("--store-timeout", type=float, default=300.0, help="patience with what must come")
    parser.add_argument("--pretrained", action="store_true", help="begin with weights from a file")
    parser.add_argument("--lenient-environment", action="store_true", help="take a default where it is wrong")
    parser.add_argument(
        "--place-from-launcher", action="store_true", help="where RANK and the like say something else"
    )
    parser.add_argument("--strict-load", action="store_true", help="refuse weights that matched nothing")
    parser.add_argument("--overlap-off", action="store_true", help="manual: reduce when backward is done")
    parser.add_argument(
        "--average-in-collective", action="store_true", help="manual: the reduction averages, nobody divides"
    )
    parser.add_argument(
        "--validate-results", action="store_true", help="with --audit: stop at a sum that is not right"
    )
    parser.add_argument("--epoch-in-seed", action="store_true", help="the sampler's seed grows by epochs")
    parser.add_argument(
        "--strict-data-state", action="store_true", help="reshard: refuse positions of another world size"
    )
    parser.add_argument(
        "--validate-access", action="store_true", help="reshard: refuse a shard without one writer"
    )
    parser.add_argument("--audit", action="store_true", help="show gradients beside what they are made of")
    parser.add_argument(
        "--reference", action="store_true", help="show each step beside the same training on one rank"
    )
    options = parser.parse_args()
    options.width = int(os.environ.get("HIDDEN_SIZE", options.width))  # a node's own profile
    return options


def samples(options):
    generator = torch.Generator().manual_seed(7)
    features = torch.randn(options.samples, options.width, generator=generator)
    return TensorDataset(features, features.pow(2).mean(1, keepdim=True))


def batches(options, training, data, first):
    """Endless batches of this rank's share."""
    sampler = DistributedSampler(
        data, training.replicas, training.replica, shuffle=not options.in_order, seed=options.seed
    )
    loader = DataLoader(data, batch_size=options.batch, sampler=toy_task.Rest(sampler))
    return toy_task.endless(loader, sampler, first, options.epoch_in_seed)


def train_step(training, options, schedule, step, batch):
    features, targets = batch
    if options.dropout:
        features = dropout.apply(features, options, step, training.replica)
    loss = training.compute(features, targets, lambda share=1.0: time.sleep(options.step_seconds * share))
    if training.audit:
        training.audit.accumulated(training.gradients_now())
    training.reduce()
    if schedule:
        schedule.apply(training.optimizer)
    if not training.audit:
        shown, _ = layout.mean_loss(loss, len(features), training.data_group)
    norm = training.gradient_norm()
    training.step()
    if training.audit:  # summed apart from the reduction that it checks, once the update is over
        beside = [training.audit.own]
        shown, (together,) = layout.mean_loss(loss, len(features), training.data_group, beside)
        training.audit.show(step, together)
        if options.validate_results:
            training.audit.check(step, together)
    return shown, norm


@record
def main():
    options = arguments()
    options.learning_rate = layout.base_rate(options.learning_rate)
    startup.join(options)
    print(
        f"config rank={dist.get_rank()} world_size={dist.get_world_size()} "
        f"steps={options.steps} batch={options.batch} micro_batches={options.micro_batches} "
        f"seed={options.seed} mode={options.mode}",
        flush=True,
    )
    if options.reference or options.audit:
        torch.set_default_dtype(torch.float64)
    layout.seed_everything(options.seed)
    training = maker_of(options.mode)(options)
    training.audit = audit.Audit() if options.audit else None
    if options.pretrained:
        pretrained.load(training, options)
    schedule = startup.SquareRootRate(options.learning_rate) if options.rate_scaling == "sqrt" else None
    options.learning_rate = schedule.should if schedule else options.learning_rate
    print(f"config learning_rate={options.learning_rate}", flush=True)
    data = samples(options)
    beside = reference.Reference(training, options, data) if options.reference else None
    first = checkpoint.restore(training, options) if options.checkpoint and options.resume else 0
    own = training.batches(data)
    dealt = batches(options, training, data, first) if own is None else own
    steps = zip(range(first, layout.own_steps(training.steps())), dealt)
    for step, batch in steps:
        loss, norm = train_step(training, options, schedule, step, batch)
        print(f"step={step} loss={loss:.6f}", flush=True)
        rate = training.optimizer.param_groups[0]["lr"]
        print(f"value name=learning_rate step={step} is={rate!r} should=nan", flush=True)
        training.show(step)
        if beside:
            beside.show(step, loss, norm)
        if options.checkpoint and options.checkpoint_every and (step + 1) % options.checkpoint_every == 0:
            checkpoint.save(training, options.checkpoint, step)
    dist.barrier()
    dist.destroy_process_group()
    print("done", flush=True)


if __name__ == "__main__":
    main()
    # A normal exit without its last part, in which gloo's own threads may abort a process that is done.
    atexit._run_exitfuncs()
    sys.stdout.flush()
    os._exit(0)
