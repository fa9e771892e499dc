# runners/backends/local/subjects/megatron_gpt.py — A GPT of two layers on megatron-core, over gloo on the
# CPU: tensor, pipeline or data parallel. It knows nothing of faults. Everything is under the main guard,
# since saving a checkpoint starts a helper process that imports this file again.
import argparse
import datetime
import os
import time

import torch
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record

import megatron_on_cpu

megatron_on_cpu.install()

from megatron.core import dist_checkpointing, parallel_state
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
from megatron.core.models.gpt.gpt_model import GPTModel
from megatron.core.pipeline_parallel.schedules import get_forward_backward_func
from megatron.core.transformer.transformer_config import TransformerConfig

import toy_task

VOCABULARY, LENGTH = 64, 16


def arguments():
    parser = argparse.ArgumentParser(description="Train a toy GPT on megatron-core.")
    parser.add_argument("--tp-size", type=int, default=1)
    parser.add_argument("--pp-size", type=int, default=1)
    parser.add_argument("--hidden-size", type=int, default=32)
    toy_task.add_arguments(parser)
    return toy_task.overruled(parser.parse_args(), tp_size="TP_SIZE", hidden_size="HIDDEN_SIZE")


def model_of(options):
    config = TransformerConfig(
        num_layers=2,
        hidden_size=options.hidden_size,
        num_attention_heads=4,
        tensor_model_parallel_size=options.tp_size,
        pipeline_model_parallel_size=options.pp_size,
        use_cpu_initialization=True,
        pipeline_dtype=torch.float32,
        attention_dropout=0.0,
        hidden_dropout=0.0,
        bias_dropout_fusion=False,
        masked_softmax_fusion=False,
        gradient_accumulation_fusion=False,
        persist_layer_norm=False,
    )
    return GPTModel(
        config=config,
        transformer_layer_spec=get_gpt_layer_local_spec(),
        vocab_size=VOCABULARY,
        max_sequence_length=LENGTH,
        pre_process=parallel_state.is_pipeline_first_stage(),
        post_process=parallel_state.is_pipeline_last_stage(),
        share_embeddings_and_output_weights=False,
    )


class Tokens(torch.utils.data.Dataset):
    """Fixed random sentences, each token the one before plus a step of that sentence."""

    def __init__(self, samples):
        generator = torch.Generator().manual_seed(7)
        begin = torch.randint(VOCABULARY, (samples, 1), generator=generator)
        step = torch.randint(1, 5, (samples, 1), generator=generator)
        self.tokens = (begin + step * torch.arange(LENGTH + 1)) % VOCABULARY

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, index):
        return self.tokens[index]


def batches(options, first):
    ranks, rank = parallel_state.get_data_parallel_world_size(), parallel_state.get_data_parallel_rank()
    data = Tokens(options.samples)
    sampler = torch.utils.data.DistributedSampler(data, ranks, rank, seed=options.seed)
    rest = toy_task.Rest(sampler)
    loader = torch.utils.data.DataLoader(data, batch_size=options.batch, sampler=rest, drop_last=True)
    return toy_task.endless(loader, sampler, first)


def forward(tokens_of, model):
    tokens = next(tokens_of)
    positions = torch.arange(LENGTH).expand(len(tokens), LENGTH)
    mask = torch.triu(torch.ones(1, 1, LENGTH, LENGTH, dtype=torch.bool), diagonal=1)
    output = model(tokens[:, :-1].contiguous(), positions, mask, labels=tokens[:, 1:].contiguous())

    def loss_of(losses):
        mean = losses.mean()
        return mean, {"loss": mean.detach()}

    return output, loss_of


def train_step(options, model, optimizer, tokens):
    optimizer.zero_grad()
    seen = get_forward_backward_func()(
        forward_step_func=forward,
        data_iterator=iter([tokens]),
        model=model,
        num_microbatches=1,
        seq_length=LENGTH,
        micro_batch_size=options.batch,
        forward_only=False,
    )
    group = parallel_state.get_data_parallel_group()
    for parameter in model.parameters():
        if parameter.grad is not None:
            dist.all_reduce(parameter.grad, group=group)
            parameter.grad.div_(dist.get_world_size(group))
    optimizer.step()
    return seen[0]["loss"] if seen else torch.zeros(())


def save(model, optimizer, options, step):
    place = os.path.join(options.checkpoint, f"step{step}")
    os.makedirs(place, exist_ok=True)
    dist_checkpointing.save({"model": model.sharded_state_dict(), "step": step}, place)
    dist.barrier()
    if dist.get_rank() == 0:
        with open(os.path.join(options.checkpoint, "latest"), "w", encoding="utf-8") as file:
            file.write(str(step))


def restore(model, options):
    """Parameters only: plain SGD has nothing else to remember."""
    marker = os.path.join(options.checkpoint, "latest")
    if not options.checkpoint or not os.path.exists(marker):
        return 0
    with open(marker, encoding="utf-8") as file:
        place = os.path.join(options.checkpoint, "step" + file.read())
    state = dist_checkpointing.load({"model": model.sharded_state_dict(), "step": 0}, place)
    model.load_state_dict(state["model"])
    return state["step"] + 1


@record
def main():
    options = arguments()
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=options.timeout))
    # Each of its groups has its own time-out: half an hour by default.
    parallel_state.initialize_model_parallel(
        options.tp_size, options.pp_size, distributed_timeout_minutes=options.timeout / 60
    )
    megatron_on_cpu.after_start(options.seed)
    torch.manual_seed(options.seed)
    model = model_of(options)
    optimizer = torch.optim.SGD(model.parameters(), lr=options.learning_rate)
    first = restore(model, options)
    # Every rank of a pipeline's last stage knows its loss.
    knowing = dist.get_world_size() // options.pp_size
    for step, tokens in zip(range(first, options.steps), batches(options, first)):
        time.sleep(options.step_seconds)
        toy_task.show(step, train_step(options, model, optimizer, tokens), knowing)
        if options.checkpoint and options.checkpoint_every and (step + 1) % options.checkpoint_every == 0:
            save(model, optimizer, options, step)
    toy_task.leave()


if __name__ == "__main__":
    main()
    os._exit(0)  # torch 2.11 may abort after a distributed checkpoint, once everything is done
