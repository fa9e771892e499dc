# tests/others/frameworks/hf_trainer.py — Hugging Face's Trainer on a GPT-2 of two layers: its own loop, evaluation,
# logging and checkpoints.
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
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=64, n_positions=16, n_embd=32, n_layer=2, n_head=2, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0
    )
    arguments = TrainingArguments(
        output_dir="output",
        num_train_epochs=2,
        per_device_train_batch_size=4,
        gradient_accumulation_steps=2,
        eval_strategy="epoch",
        save_strategy="epoch",
        logging_steps=5,
        report_to=[],
        disable_tqdm=True,
        seed=1,
        use_cpu=not torch.cuda.is_available(),
    )
    trainer = Trainer(
        GPT2LMHeadModel(config), arguments, train_dataset=Words(192, 1), eval_dataset=Words(32, 2)
    )
    trainer.train()
    loss = trainer.evaluate()["eval_loss"]
    if trainer.is_world_process_zero():
        print(f"loss {loss:.6f}")


if __name__ == "__main__":
    main()
