# runners/local/subjects/fully_sharded.py — FSDP2: every layer lives in shards, gathered by torch just
# before it is used. Needs torch 2.6 or later.
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
        self.model = parallelism.toy_model(options, options.layers - 1)  # the head has shards as well
        layout.broadcast_parameters(self.model)
        mesh = init_device_mesh("cpu", (dist.get_world_size(),), mesh_dim_names=("dp",))
        for layer in self.model:
            if isinstance(layer, torch.nn.Linear):
                fully_shard(layer, mesh=mesh)
        fully_shard(self.model, mesh=mesh)
        self.optimizer = self.make_optimizer(self.model.parameters())
        self.shard, self.shards = dist.get_rank(), dist.get_world_size()

    def reduce(self):
        """Done already, during backward."""

    def own_parts(self):
        return {name: parameter.to_local().detach() for name, parameter in self.model.named_parameters()}

    def state(self):
        momentum = [
            self.optimizer.state[parameter].get("momentum_buffer").to_local().clone()
            for parameter in self.model.parameters()
            if parameter in self.optimizer.state
        ]
        return {
            "shard": {name: part.clone() for name, part in self.own_parts().items()},
            "momentum": momentum,
        }

    def restore(self, state):
        for name, part in self.own_parts().items():
            part.copy_(state["shard"][name])
        for parameter, momentum in zip(self.model.parameters(), state["momentum"]):
            buffer = torch.zeros_like(parameter)
            buffer.to_local().copy_(momentum)
            self.optimizer.state[parameter]["momentum_buffer"] = buffer
