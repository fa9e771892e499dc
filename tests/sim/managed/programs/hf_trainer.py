# tests/sim/managed/programs/hf_trainer.py — Hugging Face's Trainer with a small GPT-2.
import torch
import torch.distributed as dist
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments


class Tokens(torch.utils.data.Dataset):
    def __len__(self):
        return 32

    def __getitem__(self, index):
        tokens = torch.randint(0, 64, (16,), generator=torch.Generator().manual_seed(index))
        return {"input_ids": tokens, "labels": tokens}


torch.manual_seed(0)
model = GPT2LMHeadModel(GPT2Config(vocab_size=64, n_positions=16, n_embd=32, n_layer=1, n_head=2))
arguments = TrainingArguments(
    "output", max_steps=4, per_device_train_batch_size=2, use_cpu=True, report_to=[], save_strategy="no"
)
result = Trainer(model, arguments, train_dataset=Tokens()).train()
if dist.get_rank() == 0:
    print(f"ok hf_trainer loss {result.training_loss:.6f}", flush=True)
