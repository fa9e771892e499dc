# tests/others/frameworks/deepspeed_zero.py — DeepSpeed's engine as in its "Getting started": initialize, forward,
# backward, step, save_checkpoint. --stage of ZeRO.
import argparse

import deepspeed
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--stage", type=int, default=1)
    parser.add_argument("--local_rank", type=int, default=-1)
    arguments = parser.parse_args()
    config = {
        "train_micro_batch_size_per_gpu": 4,
        "gradient_accumulation_steps": 2,
        "gradient_clipping": 1.0,
        "steps_per_print": 1000,
        "optimizer": {"type": "AdamW", "params": {"lr": 1e-3, "torch_adam": True}},
        "zero_optimization": {"stage": arguments.stage, "stage3_param_persistence_threshold": 0},
    }
    deepspeed.init_distributed()
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 4))
    engine, _, _, _ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=config)
    data = torch.Generator().manual_seed(dist.get_rank())
    for step in range(20):
        inputs = torch.randn(4, 16, generator=data).to(engine.device)
        labels = torch.randint(0, 4, (4,), generator=data).to(engine.device)
        loss = F.cross_entropy(engine(inputs).float(), labels)
        engine.backward(loss)
        engine.step()
        if step % 10 == 9:
            engine.save_checkpoint("saved", tag=f"step{step}")
    total = loss.detach()
    dist.all_reduce(total)
    if dist.get_rank() == 0:
        print(f"loss {total.item() / dist.get_world_size():.6f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
