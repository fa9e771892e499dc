# tests/programs/python/users/hf_trainer.py — Hugging Face Trainer on a GPT-2 of two layers: its own loop,
# evaluation, logging and checkpoints.
import tempfile

import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments


class Words(Dataset):
    def __init__(self, length, seed):
        self.tokens = torch.randint(0, 64, (length, 16), generator=torch.Generator().manual_seed(seed))

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, index):
        return {"input_ids": self.tokens[index], "labels": self.tokens[index]}


def main():
    config = GPT2Config(vocab_size=64, n_positions=16, n_embd=32, n_layer=2, n_head=2)
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            use_cpu=True,
            num_train_epochs=2,
            per_device_train_batch_size=4,
            gradient_accumulation_steps=2,
            eval_strategy="epoch",
            save_strategy="epoch",
            logging_steps=5,
            report_to=[],
            disable_tqdm=True,
            seed=1,
        )
        trainer = Trainer(GPT2LMHeadModel(config), arguments, train_dataset=Words(101, 1),
                          eval_dataset=Words(30, 2))
        trainer.train()
        trainer.accelerator.wait_for_everyone()


if __name__ == "__main__":
    main()
