# tests/others/frameworks/megatron_gpt.py — Megatron-core's training loop as in its quickstart, for GPUs: a GPT with
# tensor (--tp), pipeline (--pp), context (--cp), expert (--ep) and data parallel ranks, and a distributed checkpoint.
import argparse
import os
from functools import partial

import torch
import torch.distributed as dist
import torch.nn.functional as F
from megatron.core import dist_checkpointing, parallel_state
from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig
from megatron.core.distributed.finalize_model_grads import finalize_model_grads
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
from megatron.core.models.gpt.gpt_model import GPTModel
from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer
from megatron.core.pipeline_parallel.schedules import get_forward_backward_func
from megatron.core.tensor_parallel.mappings import gather_from_sequence_parallel_region
from megatron.core.tensor_parallel.random import model_parallel_cuda_manual_seed
from megatron.core.transformer.module import MegatronModule
from megatron.core.transformer.moe import moe_utils
from megatron.core.transformer.transformer_config import TransformerConfig
from megatron.core.utils import get_batch_on_this_cp_rank

LENGTH, WORDS, BATCH = 32, 64, 2
if not moe_utils.HAVE_TE:
    moe_utils.te_general_gemm = None  # 0.16.1 reads the name where Transformer Engine is missing too


class GatheredAttention(MegatronModule):
    """Attention from this rank's part of the sequence to the whole sequence. Megatron-core leaves it to Transformer
    Engine, whose kernels need a GPU; its cp_comm_type "all_gather" makes the same calls."""

    def __init__(self, config, *, pg_collection, **_):
        super().__init__(config)
        self.group = pg_collection.cp

    def forward(self, query, key, value, attention_mask, **_):
        key, value = (gather_from_sequence_parallel_region(one.contiguous(), group=self.group) for one in (key, value))
        heads = (one.permute(1, 2, 0, 3) for one in (query, key, value))
        found = F.scaled_dot_product_attention(*heads, attn_mask=~attention_mask)
        return found.permute(2, 0, 1, 3).flatten(2)


def layer_of(arguments):
    layer = get_gpt_layer_local_spec(num_experts=4 if arguments.experts else None)
    if arguments.cp > 1:
        layer.submodules.self_attention.submodules.core_attention = GatheredAttention
    return layer


def model_of(arguments):
    experts = {"num_moe_experts": 4, "moe_router_topk": 2, "moe_token_dispatcher_type": "alltoall"}
    config = TransformerConfig(
        num_layers=2 * arguments.pp,
        hidden_size=32,
        num_attention_heads=4,
        use_cpu_initialization=True,
        attention_dropout=0.0,
        hidden_dropout=0.0,
        pipeline_dtype=torch.float32,
        tensor_model_parallel_size=arguments.tp,
        pipeline_model_parallel_size=arguments.pp,
        context_parallel_size=arguments.cp,
        expert_model_parallel_size=arguments.ep,
        gradient_accumulation_fusion=False,
        **(experts if arguments.experts else {}),
    )
    model = GPTModel(
        config,
        layer_of(arguments),
        vocab_size=WORDS,
        max_sequence_length=LENGTH,
        pre_process=parallel_state.is_pipeline_first_stage(),
        post_process=parallel_state.is_pipeline_last_stage(),
    ).cuda()
    overlap = DistributedDataParallelConfig(overlap_grad_reduce=arguments.pp == 1, use_distributed_optimizer=True)
    return config, DistributedDataParallel(config, overlap, model)


def batches(parts):
    """`parts`: of the sequence. Each of them is a first and a last chunk, and keys are gathered in this order."""
    data = torch.Generator().manual_seed(parallel_state.get_data_parallel_rank())
    chunks = torch.arange(LENGTH).chunk(2 * parts)
    gathered = torch.cat([chunks[place] for part in range(parts) for place in (part, 2 * parts - 1 - part)])
    while True:
        tokens = torch.randint(0, WORDS, (BATCH, LENGTH + 1), generator=data)
        mask = torch.triu(torch.ones(1, 1, LENGTH, LENGTH, dtype=torch.bool), diagonal=1)
        whole = {
            "tokens": tokens[:, :-1].contiguous().cuda(),
            "labels": tokens[:, 1:].contiguous().cuda(),
            "position_ids": torch.arange(LENGTH).repeat(BATCH, 1).cuda(),
            "attention_mask": mask[..., gathered].cuda(),
        }
        yield get_batch_on_this_cp_rank(whole)


def forward_step(data, model):
    batch = next(data)

    def loss_of(output):
        loss = output.float().mean()
        return loss, {"lm loss": loss.detach().clone()}

    output = model(batch["tokens"], batch["position_ids"], batch["attention_mask"], labels=batch["labels"])
    return output, partial(loss_of)


def main():
    parser = argparse.ArgumentParser()
    for name in ("tp", "pp", "cp", "ep"):
        parser.add_argument(f"--{name}", type=int, default=1)
    parser.add_argument("--experts", action="store_true")
    arguments = parser.parse_args()
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    parallel_state.initialize_model_parallel(
        arguments.tp,
        arguments.pp,
        context_parallel_size=arguments.cp,
        expert_model_parallel_size=arguments.ep,
    )
    model_parallel_cuda_manual_seed(123)
    torch.manual_seed(123)
    config, model = model_of(arguments)
    optimizer = get_megatron_optimizer(
        OptimizerConfig(optimizer="adam", lr=1e-3, use_distributed_optimizer=True, clip_grad=1.0), [model]
    )
    config.finalize_model_grads_func = finalize_model_grads
    config.no_sync_func = model.no_sync
    step_of, data, loss = get_forward_backward_func(), batches(arguments.cp), torch.zeros((), device="cuda")
    for iteration in range(8):
        model.zero_grad_buffer()
        optimizer.zero_grad()
        losses = step_of(
            forward_step_func=forward_step,
            data_iterator=data,
            model=model,
            num_microbatches=2 * arguments.pp,
            seq_length=LENGTH,
            micro_batch_size=BATCH,
            forward_only=False,
        )
        optimizer.step()
        if losses:
            loss = torch.stack([one["lm loss"] for one in losses]).mean()
        if iteration % 4 == 3:
            place = f"checkpoint-{iteration}"
            if dist.get_rank() == 0:
                os.mkdir(place)
            dist.barrier()
            dist_checkpointing.save({"model": model.module.sharded_state_dict()}, place)
    dist.all_reduce(loss)
    if dist.get_rank() == 0:
        print(f"loss {loss.item() * arguments.pp / dist.get_world_size():.6f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
