# runners/local/subjects/train.py — A small, real training program over gloo, started by torchrun or by hand.
# It knows nothing of faults. It prints one line a step: `step=3 loss=0.123456`.
import argparse
import datetime
import os
import sys
import time

import torch
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

import parallelism


def arguments():
    parser = argparse.ArgumentParser(description="Train a toy model over several ranks.")
    parser.add_argument("--mode", choices=sorted(parallelism.MODES), default="ddp")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--step-seconds", type=float, default=0.0, help="how long the device would compute in each step")
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--samples", type=int, default=64)
    parser.add_argument("--learning-rate", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=0.0, help="seconds; 0 leaves the library's default")
    parser.add_argument("--checkpoint", default="", help="directory of the checkpoints")
    parser.add_argument("--checkpoint-every", type=int, default=5)
    parser.add_argument("--resume", action="store_true", help="go on from the newest checkpoint")
    return parser.parse_args()


def batches(options):
    """Endless batches: tensor-parallel ranks share all samples, the others divide them."""
    generator = torch.Generator().manual_seed(7)
    features = torch.randn(options.samples, parallelism.FEATURES, generator=generator)
    targets = features.pow(2).mean(1, keepdim=True)
    data = TensorDataset(features, targets)
    shared = options.mode == "tensor"
    sampler = DistributedSampler(data, num_replicas=1, rank=0) if shared else DistributedSampler(data)
    loader = DataLoader(data, batch_size=options.batch, sampler=sampler)
    epoch = 0
    while True:
        sampler.set_epoch(epoch)
        yield from loader
        epoch += 1


def checkpoint_file(options, step):
    return os.path.join(options.checkpoint, f"step{step}", f"rank{dist.get_rank()}.pt")


def save(training, options, step):
    path = checkpoint_file(options, step)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    torch.save({"step": step, **training.state()}, path)


def resume(training, options):
    steps = [int(name[4:]) for name in os.listdir(options.checkpoint) if name.startswith("step")]
    state = torch.load(checkpoint_file(options, max(steps)))
    training.restore(state)
    return state["step"] + 1


@record
def main():
    options = arguments()
    timeout = {"timeout": datetime.timedelta(seconds=options.timeout)} if options.timeout > 0 else {}
    dist.init_process_group("gloo", **timeout)
    print(f"rank {dist.get_rank()} of {dist.get_world_size()} ready", flush=True)
    torch.manual_seed(options.seed)
    training = parallelism.MODES[options.mode](options.learning_rate)
    first = resume(training, options) if options.resume else 0
    for step, (features, targets) in zip(range(first, options.steps), batches(options)):
        for parameter in training.model.parameters():
            if parameter.grad is not None:
                parameter.grad.zero_()
        loss = torch.nn.functional.mse_loss(training.model(features), targets)
        loss.backward()
        training.reduce_and_step()
        time.sleep(options.step_seconds)
        print(f"step={step} loss={loss.item():.6f}", flush=True)
        if options.checkpoint and (step + 1) % options.checkpoint_every == 0:
            save(training, options, step)
    dist.barrier()
    dist.destroy_process_group()
    print("done", flush=True)


if __name__ == "__main__":
    main()
    sys.exit(0)
