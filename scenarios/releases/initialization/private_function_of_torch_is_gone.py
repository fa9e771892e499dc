# scenarios/releases/initialization/private_function_of_torch_is_gone.py — The first line of any training
# with DeepSpeed.
import deepspeed

print(f"step=0 loss=1.0000 with {deepspeed.__name__}")
