# tests/sim/managed/programs/megatron_tensor_parallel.py — Megatron-core's groups, and a reduction of its tensor
# parallelism on CPU tensors. The rest of it asks for CUDA.
import torch
import torch.distributed as dist
from megatron.core import parallel_state
from megatron.core.tensor_parallel import mappings

dist.init_process_group("gloo")
parallel_state.initialize_model_parallel(tensor_model_parallel_size=2, pipeline_model_parallel_size=1)
group = parallel_state.get_tensor_model_parallel_group()
part = torch.full((4, 4), float(parallel_state.get_tensor_model_parallel_rank() + 1))
assert mappings.reduce_from_tensor_model_parallel_region(part, group)[0, 0].item() == 3
if dist.get_rank() == 0:
    print("ok megatron_tensor_parallel", parallel_state.get_data_parallel_world_size(), "replicas", flush=True)
dist.destroy_process_group()
