# runners/backends/local/subjects/torch_native.py — The same toy task under torch's own parallel APIs: FSDP2
# with distributed checkpoints, tensor parallel by DTensor, pipeline stages. It knows nothing of faults.
import argparse
import datetime
import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.elastic.multiprocessing.errors import record

import toy_task


def arguments():
    parser = argparse.ArgumentParser(description="Train a toy model under torch's own parallel APIs.")
    parser.add_argument("--mode", choices=("dtensor", "fsdp2", "pipeline"), default="fsdp2")
    toy_task.add_arguments(parser)
    return toy_task.overruled(parser.parse_args(), width="HIDDEN_SIZE")


class Trainer:
    """One rank's part of the job; `data` says how the samples are divided."""

    def __init__(self, options, data_ranks):
        self.options, self.replicas = options, data_ranks
        self.replica = dist.get_rank() if data_ranks > 1 else 0
        self.losses = dist.get_world_size()  # ranks that know a loss

    def finish_making(self, model):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=self.options.learning_rate, momentum=0.9)

    def step(self, features, targets):
        self.optimizer.zero_grad()
        loss = nn.functional.mse_loss(self.model(features), targets)
        loss.backward()
        self.optimizer.step()
        return loss


class FullySharded(Trainer):
    def __init__(self, options):
        from torch.distributed.fsdp import fully_shard

        super().__init__(options, dist.get_world_size())
        mesh = init_device_mesh("cpu", (dist.get_world_size(),))
        model = toy_task.model(options.width)
        for layer in model:
            if isinstance(layer, nn.Linear):
                fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
        self.finish_making(model)

    def state(self):
        from torch.distributed.checkpoint.state_dict import get_state_dict

        model, optimizer = get_state_dict(self.model, self.optimizer)
        return {"model": model, "optimizer": optimizer}

    def save(self, step):
        import torch.distributed.checkpoint as checkpoint

        checkpoint.save(self.state(), checkpoint_id=os.path.join(self.options.checkpoint, f"step{step}"))
        dist.barrier()
        if dist.get_rank() == 0:
            with open(os.path.join(self.options.checkpoint, "latest"), "w", encoding="utf-8") as file:
                file.write(str(step))

    def restore(self):
        import torch.distributed.checkpoint as checkpoint
        from torch.distributed.checkpoint.state_dict import set_state_dict

        marker = os.path.join(self.options.checkpoint, "latest")
        if not os.path.exists(marker):
            return 0
        with open(marker, encoding="utf-8") as file:
            step = int(file.read())
        state = self.state()
        checkpoint.load(state, checkpoint_id=os.path.join(self.options.checkpoint, f"step{step}"))
        set_state_dict(
            self.model, self.optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"]
        )
        return step + 1


class TensorParallel(Trainer):
    """Columns of the first layer, rows of the next: every rank sees the same samples."""

    def __init__(self, options):
        from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

        super().__init__(options, 1)
        mesh = DeviceMesh.from_group(dist.new_group(group_desc="tp"), "cpu")
        plan = {"0": ColwiseParallel(), "2": RowwiseParallel()}
        self.finish_making(parallelize_module(toy_task.model(options.width), mesh, plan))


class Pipeline(Trainer):
    """Layers over stages under GPipe: the first stage reads samples, the last one knows the loss."""

    def __init__(self, options):
        from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

        super().__init__(options, 1)
        whole = list(toy_task.model(options.width))
        stages, stage = dist.get_world_size(), dist.get_rank()
        length = -(-len(whole) // stages)
        self.last, self.losses = stage == stages - 1, 1
        part = nn.Sequential(*whole[stage * length : (stage + 1) * length])
        self.finish_making(part)
        group = dist.new_group(group_desc="pp")
        here = PipelineStage(part, stage, stages, torch.device("cpu"), group=group)
        self.schedule = ScheduleGPipe(here, 2, loss_fn=nn.functional.mse_loss)

    def step(self, features, targets):
        self.optimizer.zero_grad()
        losses = []
        if dist.get_rank() == 0:
            self.schedule.step(features)
        elif self.last:
            self.schedule.step(target=targets, losses=losses)
        else:
            self.schedule.step()
        self.optimizer.step()
        return torch.stack(losses).mean() if losses else torch.zeros(())


@record
def main():
    options = arguments()
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=options.timeout))
    torch.manual_seed(options.seed)
    trainer = {"dtensor": TensorParallel, "fsdp2": FullySharded, "pipeline": Pipeline}[options.mode](options)
    saves = options.checkpoint and hasattr(trainer, "save")
    first = trainer.restore() if saves else 0
    batches = toy_task.batches(options, trainer.replicas, trainer.replica, first)
    for step, (features, targets) in zip(range(first, options.steps), batches):
        time.sleep(options.step_seconds)
        toy_task.show(step, trainer.step(features, targets), trainer.losses)
        if saves and options.checkpoint_every and (step + 1) % options.checkpoint_every == 0:
            trainer.save(step)
    toy_task.leave()


if __name__ == "__main__":
    main()
    os._exit(0)  # torch 2.11 may abort after a distributed checkpoint, once everything is done
