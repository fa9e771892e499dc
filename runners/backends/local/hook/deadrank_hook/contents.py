# runners/backends/local/hook/deadrank_hook/contents.py — A number for each sample of a batch, taken from what the
# sample holds. Two ranks that read one sample find one number, however each of them counts its samples.
import hashlib
from collections.abc import Mapping

WIDTH = 64  # elements of a sample's tensor that are looked at
ROWS = 64  # samples of a batch
LETTERS = 256  # of a text


def of_batch(batch, count=None):
    """The numbers of the first samples of a collated batch. None if it does not show its samples. `count`: how
    many samples it has; without it, the length that most of its tensors begin with."""
    import torch

    found = []
    collect(torch, batch, found)
    if count is None:
        lengths = [len(one) for one, _ in found]
        count = max(lengths, key=lengths.count) if lengths else len(batch) if isinstance(batch, list) else 0
    if count < 1:
        return None
    parts = [rows_of(torch, one, mask) for one, mask in found if len(one) == count]
    if parts:
        texts = [bytes(row) for row in torch.cat(parts, 1).numpy()]
    elif isinstance(batch, (list, tuple)) and len(batch) == count:  # not collated
        texts = [text_of(torch, one) for one in batch[:ROWS]]
    else:
        texts = next((words for words in lists_in(batch) if len(words) == count), None)
        texts = texts and [text_of(torch, one) for one in texts[:ROWS]]
    if not texts or any(text is None for text in texts):
        return None
    return [int.from_bytes(hashlib.blake2b(text, digest_size=6).digest(), "little") for text in texts]


def beginnings(value, torch):
    """The first elements of each tensor in it, by which a batch is known again on its way to the model."""
    if isinstance(value, torch.Tensor):
        plain = value.layout == torch.strided and value.numel() and not value.is_meta
        return {tuple(value.detach().reshape(-1)[:WIDTH].tolist())} if plain else set()
    inside = value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else ()
    return set().union(*(beginnings(one, torch) for one in inside))


def collect(torch, value, found, mask=None):
    """All tensors in it that have rows, each with the mask of its batch."""
    if isinstance(value, torch.Tensor):
        if value.dim() and len(value) and value.device.type == "cpu" and value.layout == torch.strided:
            found.append((value, mask))
    elif isinstance(value, Mapping):
        mask = value.get("attention_mask")
        for _, one in sorted(value.items(), key=lambda item: str(item[0])):
            collect(torch, one, found, mask)
    elif isinstance(value, (list, tuple)) and len(value) <= 64:
        for one in value:
            collect(torch, one, found, mask)
    elif type(value).__module__ == "numpy" and getattr(value, "ndim", 0) and value.dtype.kind in "biuf":
        collect(torch, torch.from_numpy(value), found, mask)


def rows_of(torch, tensor, mask):
    """Bytes of some elements of each row. Rows of integers may be padded to the longest row of their batch. Padding
    must not change the bytes: elements that the mask excludes are 0, and rows shorter than WIDTH end in zeros."""
    rows = tensor.detach()[:ROWS]
    rows = rows.resolve_conj() if rows.is_complex() else rows
    count = len(rows)
    if not rows.is_floating_point() and not rows.is_complex():
        if isinstance(mask, torch.Tensor) and mask.shape == tensor.shape and mask.dim() > 1:
            rows = rows[:, :WIDTH] * mask[:ROWS, :WIDTH].to(rows.dtype)
        rows = rows.reshape(count, -1)[:, :WIDTH].to(torch.int64)
        if rows.shape[1] < WIDTH:
            rows = torch.nn.functional.pad(rows, (0, WIDTH - rows.shape[1]))
    else:
        rows = rows.reshape(count, -1)
        step = -(-rows.shape[1] // WIDTH)
        rows = rows[:, :: max(1, step)]
    return rows.contiguous().view(torch.uint8).reshape(count, -1)


def text_of(torch, sample):
    """Bytes of a sample by itself. None if it holds nothing to look at."""
    found = []
    collect(torch, sample, found)
    parts = [bytes(rows_of(torch, one.reshape(1, -1), None).numpy().reshape(-1)) for one, _ in found]
    if isinstance(sample, torch.Tensor) and not sample.dim():
        parts.append(repr(sample.item()).encode())
    words = [sample] if isinstance(sample, PLAIN) else list(plain_in(sample))
    parts += [repr(one[:LETTERS] if isinstance(one, (str, bytes)) else one).encode() for one in words]
    return b"|".join(parts) if parts else None


PLAIN = (str, bytes, int, float)


def plain_in(value):
    inside = value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else ()
    return (one for one in inside if isinstance(one, PLAIN))


def lists_in(batch):
    """Lists of texts, which a batch has beside its tensors."""
    inside = batch.values() if isinstance(batch, Mapping) else batch if isinstance(batch, (list, tuple)) else ()
    return [one for one in inside if isinstance(one, (list, tuple)) and one and isinstance(one[0], PLAIN)]
