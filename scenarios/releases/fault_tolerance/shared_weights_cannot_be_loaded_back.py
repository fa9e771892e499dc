# scenarios/releases/fault_tolerance/shared_weights_cannot_be_loaded_back.py — A model whose last layer has
# the weights of its first, saved and loaded after a restart.
import os

os.environ["TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"] = "1"  # as torch was when these releases came out

import torch
from accelerate import Accelerator

HERE = os.path.join(os.environ["TMPDIR"], "state")


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding(8, 4)
        self.head = torch.nn.Linear(4, 8, bias=False)
        self.head.weight = self.words.weight

    def forward(self, tokens):
        return self.head(self.words(tokens))


def main():
    accelerator = Accelerator(cpu=True)
    torch.manual_seed(1)
    model = Model()
    model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=0.1))
    for step in range(4):
        loss = model(torch.tensor([step, step + 1])).square().mean()
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        print(f"step={step} loss={loss.item():.4f}", flush=True)
    accelerator.save_state(HERE)
    accelerator.wait_for_everyone()
    print("saved", flush=True)
    accelerator.load_state(HERE)
    print("goes on", flush=True)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
