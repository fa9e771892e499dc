# runners/backends/local/subjects/stages.py — Pipeline parallelism by hand: layers over stages, micro-batches
# sent from one to the next, their gradients sent back; with data parallelism across pipelines.
import torch
import torch.distributed as dist

import layout
import parallelism


class Pipeline(parallelism.Replicated):
    def __init__(self, options):
        self.options = options
        stages = layout.pipeline_size(options.pp_size)
        ranks, rank = dist.get_world_size(), dist.get_rank()
        if stages <= 0 or ranks % stages:
            raise RuntimeError(f"world_size ({ranks}) is not divisible by {stages}")
        print(f"config pp_size={stages}", flush=True)
        copies = ranks // stages
        self.stage, self.place, self.stages = rank // copies, rank % copies, stages
        columns = [range(place, ranks, copies) for place in range(copies)]
        self.column = columns[self.place]
        self.pipeline_group = layout.own_group("pp", columns)
        rows = [range(stage * copies, (stage + 1) * copies) for stage in range(stages)]
        self.data_group = layout.own_group("dp", rows)
        whole = parallelism.toy_model(options)  # the same numbers on every rank
        ends = [options.layers * stage // stages for stage in range(stages + 1)]
        length = ends[self.stage + 1] - ends[self.stage]
        first = layout.first_layer(ends[self.stage])
        layout.show("layers", first, length, options.layers)
        self.layers = slice(2 * first, 2 * (first + length))  # each with its activation
        self.model = self.part_of(whole)
        self.optimizer = self.make_optimizer(self.model.parameters())
        self.shard, self.shards = self.stage, stages

    def part_of(self, whole):
        head = [whole[-1]] if self.last else []
        return torch.nn.Sequential(*whole[self.layers], *head)

    def owned(self, serial):
        return list(self.part_of(serial).parameters())

    replica = property(lambda self: self.place)
    replicas = property(lambda self: dist.get_world_size(self.data_group))
    writer = property(lambda self: self.place == 0)
    last = property(lambda self: self.stage == self.stages - 1)

    def neighbour(self, step):
        return self.column[layout.peer(self.stage + step)]

    def compute(self, features, targets, device):
        self.clear_gradients()
        parts = max(1, min(self.options.micro_batches, len(features)))
        kept, total = [], torch.zeros(())
        for batch, answers in zip(features.chunk(parts), targets.chunk(parts)):
            if self.stage > 0:
                batch = torch.empty(len(batch), self.options.width)
                dist.recv(batch, self.neighbour(-1), group=self.pipeline_group)
                batch.requires_grad_()
            result = self.model(batch)
            if self.last:
                result = torch.nn.functional.mse_loss(result, answers) / parts
                total += result.detach()
            else:
                dist.send(result.detach(), self.neighbour(1), group=self.pipeline_group)
            kept.append((batch, result))
        device(layout.stage_work(1000) / 1000)
        for batch, result in kept:
            if self.last:
                result.backward()
            else:
                gradient = torch.empty_like(result)
                dist.recv(gradient, self.neighbour(1), group=self.pipeline_group)
                result.backward(gradient)
            if self.stage > 0:
                dist.send(batch.grad, self.neighbour(-1), group=self.pipeline_group)
        self.fill_buckets()
        dist.broadcast(total, self.column[-1], group=self.pipeline_group)
        return total
