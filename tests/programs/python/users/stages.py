# tests/programs/python/users/stages.py — Pipeline parallel: a stage on each rank, one forward and one
# backward in turn (1F1B) over micro-batches.
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(9)
    whole = [nn.Sequential(nn.Linear(24, 24), nn.ReLU()) for _ in range(world)]
    mine = whole[rank]
    stage = PipelineStage(mine, rank, world, torch.device("cpu"))
    schedule = Schedule1F1B(stage, n_microbatches=4, loss_fn=nn.MSELoss())
    optimizer = torch.optim.SGD(mine.parameters(), lr=0.05)
    generator = torch.Generator().manual_seed(1)
    for step in range(20):
        inputs, target = torch.randn(2, 16, 24, generator=generator)
        optimizer.zero_grad()
        losses = []
        if rank == 0:
            schedule.step(inputs)
        elif rank == world - 1:
            schedule.step(target=target, losses=losses)
        else:
            schedule.step()
        optimizer.step()
        if losses and step % 5 == 0:
            print(f"step {step}: {torch.stack(losses).mean():.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
