# runners/backends/local/subjects/dropout.py — Drops one feature in N. A mask depends on the replica's own
# seed and on the number of samples before it, not on how many draws were made.
import torch

import layout


def apply(features, options, step, replica):
    """To a replica's samples of one step; shows the seed beside the one that the replica should have."""
    own = options.seed + replica
    seed = layout.dropout_seed(own)
    print(f"value name=dropout.seed step={step} is={seed} should=nan", flush=True)
    counter = layout.dropout_counter(step * len(features))
    return masked(features, options.dropout, seed, counter)


def masked(features, one_in, seed, counter):
    kept = [
        keeps(features.shape[1], one_in, seed, counter + number).to(features.dtype)
        for number in range(len(features))
    ]
    return features * torch.stack(kept)


def keeps(width, one_in, seed, counter):
    generator = torch.Generator().manual_seed(seed * 1_000_003 + counter)
    return torch.rand(width, generator=generator) * one_in >= 1
