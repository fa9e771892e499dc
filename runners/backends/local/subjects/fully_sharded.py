# runners/backends/local/subjects/fully_sharded.py — FSDP2: every layer lives in shards, gathered by torch
# just before it is used. Needs torch 2.6 or later.
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

import layout
import parallelism


class FullySharded(parallelism.Replicated):
    writer = True

    def __init__(self, options):
        from torch.distributed.fsdp import fully_shard

        self.options = options
        self.model = self.serial()
        layout.broadcast_parameters(self.model)
        mesh = init_device_mesh("cpu", (dist.get_world_size(),), mesh_dim_names=("dp",))
        for layer in self.model:
            if isinstance(layer, torch.nn.Linear):
                fully_shard(layer, mesh=mesh)
        fully_shard(self.model, mesh=mesh)
        self.model.set_reshard_after_backward(False)  # but reshard after the update
        self.sharded = dict(self.model.named_parameters())
        self.optimizer = self.make_optimizer(self.sharded.values())
        self.shard, self.shards = dist.get_rank(), dist.get_world_size()

    def serial(self):
        return parallelism.toy_model(self.options, self.options.layers - 1)  # the head is sharded as well

    def reduce(self):
        """Done already, during backward."""

    def step(self):
        self.optimizer.step()
        self.drop_gathered()

    def drop_gathered(self):
        for module in self.model.modules():
            if hasattr(module, "reshard"):
                module.reshard()

    def own(self):
        return list(self.own_parts().values())

    def owned(self, serial):
        """Rows of each parameter, as many for each rank but the last ones."""
        parts = [parameter.detach().chunk(self.shards) for parameter in serial.parameters()]
        return [rows[self.shard] if self.shard < len(rows) else rows[0][:0] for rows in parts]

    def own_parts(self):
        return {name: parameter.to_local().detach() for name, parameter in self.sharded.items()}

    def state(self):
        momentum = [
            self.optimizer.state[parameter].get("momentum_buffer").to_local().clone()
            for parameter in self.sharded.values()
            if parameter in self.optimizer.state
        ]
        return {
            "shard": {name: part.clone() for name, part in self.own_parts().items()},
            "momentum": momentum,
        }

    def restore(self, state):
        for name, part in self.own_parts().items():
            part.copy_(state["shard"][name])
        for parameter, momentum in zip(self.sharded.values(), state["momentum"]):
            buffer = torch.zeros_like(parameter)
            buffer.to_local().copy_(momentum)
            self.optimizer.state[parameter]["momentum_buffer"] = buffer
