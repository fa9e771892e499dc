# scenarios/catalog/initialization/conversion_tool_without_process_group.py — The fixed program.
import torch
import torch.distributed as dist

SHARDS, WIDTH = 2, 8


class Layer(torch.nn.Linear):
    """The trainer's layer: each rank draws weights of its own."""

    def __init__(self, inputs, outputs):
        super().__init__(inputs, outputs)
        generator = torch.Generator().manual_seed(1 + dist.get_rank())
        torch.nn.init.normal_(self.weight, generator=generator)


def convert():
    """Cuts the layer of one checkpoint into those of several ranks."""
    whole = Layer(WIDTH, WIDTH)
    for number, rows in enumerate(whole.weight.detach().chunk(SHARDS)):
        torch.save({"weight": rows.clone()}, f"shard_{number}.pt")


dist.init_process_group("gloo")  # what the trainer's code asks for its rank
convert()
print(f"{SHARDS} shards are written")
dist.destroy_process_group()
