# tests/others/prepare.py — What the programs of others want to read: pictures, text and a tokenizer, all of
# it noise and made here. Nothing is fetched.
import pathlib
import random
import struct

TEXT = "the rank that waits is not the rank that is late and the one that is late says nothing "


def pictures(folder, train, test):
    """As torchvision keeps MNIST."""
    import numpy

    noise = numpy.random.default_rng(0)
    folder.mkdir(parents=True, exist_ok=True)
    for name, count in (("train", train), ("t10k", test)):
        body = noise.integers(0, 256, count * 28 * 28, dtype=numpy.uint8).tobytes()
        (folder / f"{name}-images-idx3-ubyte").write_bytes(struct.pack(">IIII", 2051, count, 28, 28) + body)
        body = noise.integers(0, 10, count, dtype=numpy.uint8).tobytes()
        (folder / f"{name}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 2049, count) + body)


def words(folder):
    """Plain text, the same as rows of JSON, and as nanoGPT's file of token numbers."""
    import json

    import numpy

    chance = random.Random(0)
    lines = [" ".join(chance.sample(TEXT.split(), 12)) for _ in range(400)]
    (folder / "text.txt").write_text("\n".join(lines) * 4)
    rows = folder / "rows"
    rows.mkdir(exist_ok=True)
    (rows / "train.jsonl").write_text("\n".join(json.dumps({"text": line}) for line in lines))
    pairs = folder / "pairs"
    pairs.mkdir(exist_ok=True)
    both = [{"chosen": one, "rejected": other} for one, other in zip(lines, lines[1:])]
    (pairs / "train.jsonl").write_text("\n".join(map(json.dumps, both)))
    numbers = numpy.random.default_rng(0).integers(0, 64, 20_000, dtype=numpy.uint16)
    for name in ("train.bin", "val.bin"):
        numbers.tofile(folder / name)


def model(folder):
    """A language model of two layers that knows the words of TEXT."""
    import tokenizers
    import transformers

    known = ["<unk>", "<eos>", *sorted(set(TEXT.split()))]
    inner = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({word: at for at, word in enumerate(known)}, "<unk>")
    )
    inner.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner, unk_token="<unk>", eos_token="<eos>", pad_token="<eos>"
    )
    fast.save_pretrained(folder)
    shape = transformers.LlamaConfig(
        vocab_size=len(known),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
    )
    transformers.LlamaForCausalLM(shape).save_pretrained(folder)


def prepare(folder):
    folder = pathlib.Path(folder)
    if (folder / "done").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    pictures(folder / "few" / "MNIST" / "raw", 2_560, 256)
    pictures(folder / "many" / "MNIST" / "raw", 60_000, 512)
    words(folder)
    model(folder / "llama")
    (folder / "done").touch()
