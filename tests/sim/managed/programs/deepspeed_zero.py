# tests/sim/managed/programs/deepspeed_zero.py — DeepSpeed, stages 1 to 3 of ZeRO: prints the loss of the last step
# of each.
import deepspeed
import torch
import torch.distributed as dist

for stage in (1, 2, 3):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.ReLU(), torch.nn.Linear(32, 2))
    config = {
        "train_micro_batch_size_per_gpu": 4,
        "zero_optimization": {"stage": stage},
        "optimizer": {"type": "Adam", "params": {"lr": 1e-3, "torch_adam": True}},
    }
    engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=config)
    torch.manual_seed(1 + dist.get_rank())
    for step in range(3):
        loss = engine(torch.randn(4, 8)).float().pow(2).mean()
        engine.backward(loss)
        engine.step()
    total = loss.detach().clone()
    dist.all_reduce(total)
    if dist.get_rank() == 0:
        print(f"ok deepspeed_zero stage {stage} loss {total.item() / dist.get_world_size():.6f}", flush=True)
dist.destroy_process_group()
