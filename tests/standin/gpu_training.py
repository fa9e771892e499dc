# tests/standin/gpu_training.py — Training as programs for GPUs do it. Prints the losses and gradient norms
# of each program as JSON, to the last digit: `--device cpu` in a plain process, `--device cuda` on a
# simulated GPU.
import argparse
import json
import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

STEPS = 6
PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


class Block(nn.Module):
    def __init__(self, width, heads, dropout=0.0):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.heads, self.dropout = heads, dropout

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (
            part.view(batch, length, self.heads, -1).transpose(1, 2)
            for part in self.qkv(self.norm1(x)).chunk(3, -1)
        )
        dropout = self.dropout if self.training else 0.0
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=dropout)
        x = x + F.dropout(self.out(y.transpose(1, 2).reshape(batch, length, width)), dropout)
        return x + self.mlp(self.norm2(x))


class Transformer(nn.Module):
    def __init__(self, words=128, width=32, layers=2, heads=4, length=16, dropout=0.0):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, heads, dropout) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, tokens):
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def train(device, model, batch, loss_of, optimizer, amp=None, call=None):
    """Trains with mixed precision, gradient scaling and clipping, and returns each step's loss and norm."""
    scaler = torch.amp.GradScaler(device.type, enabled=amp == torch.float16)
    generator = torch.Generator().manual_seed(1)
    side = torch.cuda.Stream() if device.type == "cuda" else None
    numbers = []
    for _ in range(STEPS):
        parts = batch(generator)
        if side:  # as loaders do: pinned memory, a stream for copies
            with torch.cuda.stream(side):
                parts = [part.pin_memory().to(device, non_blocking=True) for part in parts]
            torch.cuda.current_stream().wait_stream(side)
            for part in parts:
                part.record_stream(torch.cuda.current_stream())
        with torch.autocast(device.type, dtype=amp or torch.bfloat16, enabled=amp is not None):
            loss = loss_of((model if call is None else call)(parts[0]), parts[1])
        assert loss.device.type == device.type
        optimizer.zero_grad(set_to_none=True)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        numbers.append((loss.item(), norm.item()))
    return numbers


def tokens(generator):
    text = torch.randint(0, 128, (4, 17), generator=generator)
    return text[:, :-1], text[:, 1:]


def images(generator):
    return torch.randn(4, 3, 12, 12, generator=generator), torch.randint(0, 10, (4,), generator=generator)


def word_loss(logits, targets):
    return F.cross_entropy(logits.reshape(-1, logits.shape[-1]).float(), targets.reshape(-1))


def train_transformer(device, amp=None, call=None, dropout=0.0, **settings):
    torch.manual_seed(0)
    model = Transformer(dropout=dropout).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, **settings)
    return train(device, model, tokens, word_loss, optimizer, amp, call and call(model))


@program
def transformer_foreach(device):
    return train_transformer(device, foreach=True)


@program
def transformer_fused(device):
    return train_transformer(device, fused=True)


@program
def transformer_bf16(device):
    return train_transformer(device, torch.bfloat16)


@program
def transformer_fp16_scaled(device):
    return train_transformer(device, torch.float16)


@program
def transformer_checkpointed(device):
    return train_transformer(device, call=lambda model: lambda x: checkpoint(model, x, use_reentrant=False))


@program
def transformer_compiled(device):
    settings = {} if device.type == "cuda" else {"backend": "aot_eager"}
    return train_transformer(device, call=lambda model: torch.compile(model, **settings))


@program
def transformer_dropout(device):
    return train_transformer(device, dropout=0.1)


@program
def convolutions(device):
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3),
        nn.GroupNorm(4, 16), nn.SiLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10),
    ).to(device)  # fmt: skip
    return train(
        device, model, images, F.cross_entropy, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    )


@program
def perceptron_with_batch_norm(device):
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Flatten(), nn.Linear(432, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 10)
    ).to(device)
    return train(device, model, images, F.cross_entropy, torch.optim.RMSprop(model.parameters(), lr=1e-3))


@program
def sparse_embeddings(device):
    torch.manual_seed(0)
    embedding = nn.Embedding(128, 8, sparse=True).to(device)
    optimizer = torch.optim.SparseAdam(embedding.parameters(), lr=0.05)
    generator = torch.Generator().manual_seed(1)
    numbers = []
    for _ in range(STEPS):
        x, y = (part.to(device) for part in tokens(generator))
        loss = (embedding(x) - embedding(y)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        numbers.append((loss.item(), embedding.weight.grad.coalesce().values().norm().item()))
    return numbers


@program
def encoder_with_masks(device):
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True, norm_first=True)
    model = nn.Sequential(nn.Embedding(128, 16), layer).to(device)
    mask = torch.ones(16, 16, device=device).triu(1).bool()

    def call(x):
        return layer(model[0](x), src_mask=mask)

    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    return train(device, model, tokens, lambda y, _: y.square().mean(), optimizer, call=call)


@program
def checkpoint_resumed(device):
    """Saves and loads model and optimizer half-way, on the device."""
    import io

    torch.manual_seed(0)
    model = Transformer().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    first = train(device, model, tokens, word_loss, optimizer)
    file = io.BytesIO()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
    file.seek(0)
    saved = torch.load(file, map_location=device)
    assert next(iter(saved["model"].values())).device.type == device.type
    model, optimizer = Transformer().to(device), None
    model.load_state_dict(saved["model"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    optimizer.load_state_dict(saved["optimizer"])
    return first + train(device, model, tokens, word_loss, optimizer)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--only", action="append")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    for name in options.only or PROGRAMS:
        print(json.dumps({name: PROGRAMS[name](torch.device(options.device))}), flush=True)


main()
