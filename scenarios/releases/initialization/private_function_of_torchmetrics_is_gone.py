# scenarios/releases/initialization/private_function_of_torchmetrics_is_gone.py — The first line of any
# training with Lightning.
import pytorch_lightning

print(f"step=0 loss=1.0000 with {pytorch_lightning.__name__}")
