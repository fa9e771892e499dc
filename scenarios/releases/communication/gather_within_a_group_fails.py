# scenarios/releases/communication/gather_within_a_group_fails.py — Ranks of one group gather what they have
# counted, and the others go on.
import ignite.distributed as idist
import torch
import torch.distributed as dist


def main():
    idist.initialize("gloo")
    group = idist.new_group([0, 1])
    print("step=0 loss=1.0000")
    seen = idist.all_gather(torch.tensor([idist.get_rank() + 1.0]), group=group)
    print(f"step=1 loss={seen.sum().item():.4f}")
    dist.barrier()
    idist.finalize()


if __name__ == "__main__":
    main()
