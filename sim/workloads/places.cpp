// sim/workloads/places.cpp — One row for each seam and block: its name, and for a seam the value in brackets
// that it has without a fault. The arrays are cut by workload.
#include <algorithm>
#include <span>

#include "sim/workloads/workload_catalog.h"

namespace deadrank::sim {

namespace {

// Of several workloads.
constexpr CodePlace shared_places[] = {
    {"gradient.accumulate",
     "add a micro-batch's gradient to those before; left out, only the last one counts"},
    {"gradient.all_reduce", "sum gradients over data-parallel ranks"},
    {"gradient.divisor", "what summed gradients are divided by (samples of all ranks)"},
    {"gradient.local", "first element of this rank's own gradient, before any reduction", "1/65536"},
    {"loss.divisor", "what the summed loss is divided by (samples of all ranks)"},
    {"parameters.broadcast", "give all ranks the first parameters of rank 0"},
    {"row_parallel.all_reduce", "sum the partial products of a layer over the tensor-parallel group"},
    {"shard.length", "elements of the shard that this rank owns"},
    {"shard.offset", "element at which the shard of this rank begins"},
    {"tp.size", "ranks that share a layer (tp_size)"},
};

// Of every job.
constexpr CodePlace job_places[] = {
    {"activations.release",
     "drop a step's activations when it is over; left out, a graph that somebody keeps grows step by "
     "step"},
    {"checkpoint.close", "close a written file; left out, each save keeps a descriptor open"},
    {"checkpoint.first_key", "number of the first layer in the keys that this rank writes (0)"},
    {"checkpoint.first_parameter",
     "first parameter that is taken from what was loaded (0); later ones follow in order"},
    {"checkpoint.helper", "signal that ended the helper process which writes checkpoints (0: it lives)"},
    {"checkpoint.keys", "layers that this rank writes (all)"},
    {"checkpoint.load_first_key", "number of the first layer in the keys that a load looks for (0)"},
    {"checkpoint.load_prefix", "how often \"module.\" stands before the keys that a load looks for (0)"},
    {"checkpoint.load_shard", "number of the shard that this rank reads (its own)"},
    {"checkpoint.optimizer", "write the optimizer's own state beside the layers (optimizer_steps)"},
    {"checkpoint.prefix", "how often \"module.\" stands before the keys that this rank writes (0)"},
    {"checkpoint.publish", "move the marker `latest` to the step that was saved; rank 0 does"},
    {"checkpoint.restore",
     "copy what was loaded into the parameters; left out, the file is read and forgotten"},
    {"checkpoint.resumed_step", "step that training goes on with after a load (the one after that saved)"},
    {"checkpoint.shard", "number of the shard that this rank writes (its own)"},
    {"checkpoint.step", "step that the marker `latest` is moved to (the one that was saved)"},
    {"checkpoint.sync", "make the written file durable; left out, a crash soon after may lose it"},
    {"checkpoint.visible", "1: this rank sees the marker `latest`, as written; 0: it sees none"},
    {"checkpoint.wait_for_all", "barrier between writing the shards and moving the marker"},
    {"checkpoint.writer", "1: this rank writes its shard; 0: it leaves that to others"},
    {"collector.agree",
     "collect garbage at the same step on all ranks; left out, each one when its own count says so"},
    {"compile.helper", "signal that ended a helper process which compiles (0: all live)"},
    {"condition.value", "1: this rank enters the conditional reduction; 0: it does not (1)"},
    {"context.device", "device on which a process opens a second context (its own: none)"},
    {"copy.lanes", "lanes over which this rank's samples are copied to its device (16)"},
    {"group.base", "first rank of a parallel group, in the world"},
    {"group.make_others",
     "take part when groups are made that this rank is not in; left out, it counts fewer groups "
     "than its peers"},
    {"group.number", "number under which a new group is known in the store (groups made so far)"},
    {"group.size", "ranks of a parallel group"},
    {"group.stride", "distance between neighbours of a parallel group, in the world"},
    {"host.threads", "threads that share this rank's host_work (OMP_NUM_THREADS)"},
    {"load.layers_at_once", "layers that are expanded at once while weights are loaded (1)"},
    {"loader.busy", "data loader workers that have something to load (loader_workers)"},
    {"loader.helper", "signal that ended a data loader worker (0: all live)"},
    {"loader.reads", "samples that a worker reads for each one that is used (1)"},
    {"loader.workers", "data loader workers that a rank starts (loader_workers); each costs host memory"},
    {"metric.gathers",
     "gathers that this rank makes after each step with all ranks, one for each number that it reports (0)"},
    {"model.seed", "seed that a rank draws its first parameters from (seed)"},
    {"optimizer.base_rate", "learning rate that the schedule starts from", "parts per billion"},
    {"optimizer.learning_rate", "learning rate that this step uses", "parts per billion"},
    {"rng.counter", "position in a rank's stream of random numbers at which a step's dropout begins"},
    {"rng.seed", "seed of a rank's dropout (seed and its own number)"},
    {"sampler.batch", "samples of a rank in a step (batch)"},
    {"sampler.epoch", "epoch that the order of samples is shuffled for"},
    {"sampler.position", "batches since the beginning after which this one comes"},
    {"sampler.replicas", "ranks that the data set is divided among"},
    {"sampler.seed", "seed that the order of samples is shuffled with (seed)"},
    {"sampler.shard", "which of the parts of a batch this rank takes (its own number)"},
    {"sampler.steps", "steps after which a rank stops (steps)"},
    {"scheduler.to_tensor",
     "make the number that the learning rate is scaled by a tensor, as the framework's root asks for"},
    {"startup.device", "device that a rank chooses (that of its local rank)"},
    {"startup.init_process_group",
     "make the default process group; left out, whoever uses it later is refused"},
    {"startup.rank", "rank that a process believes to be (RANK)"},
    {"startup.world_size", "ranks that a process waits for (WORLD_SIZE)"},
    {"store.host",
     "1: this rank hosts the store where ranks meet, if no agent or service keeps it (rank 0); 0: it "
     "connects"},
    {"weights.device", "device on which loaded weights are put first (the rank's own); -1: host memory"},
};

// Of workloads in which each rank computes with the whole model.
constexpr CodePlace whole_model_places[] = {
    {"auxiliary.divisor", "what each micro-batch divides the second term of the loss by (1)"},
    {"auxiliary.formula",
     "0: the second term of the loss is half the square of the parameters; 1: their sum"},
    {"bucket.after_backward",
     "reduce gradients that are complete; left out, a bucket is reduced while backward still adds to it"},
    {"bucket.first", "bucket that is reduced first while backward still runs (0, that of the last layers)"},
    {"bucket.unflatten", "elements by which a reduced bucket is cut apart too late (0)"},
    {"clip.norm", "norm by which gradients are clipped (that of the mean gradient)"},
    {"dp.size", "ranks that average their gradients (dp_size)"},
    {"evaluation.divisor", "what the summed evaluation loss is divided by (samples counted)"},
    {"evaluation.formula",
     "0: the loss is a sum over all samples by their number; 1: the mean of each rank's own mean"},
    {"evaluation.passes", "batches that this rank evaluates (its share of the set)"},
    {"evaluation.reductions", "how often a batch's loss is summed over the ranks (1)"},
    {"gradient.unscale", "divide gradients by the loss scale before the optimizer sees them"},
    {"layer.frozen", "layer that gets no gradient, counted from 1; 0: none (frozen_layer)"},
    {"loader.assign", "copy what the loader read into the model"},
    {"loader.check_layout", "refuse a checkpoint that another number of ranks wrote than the loader expects"},
    {"loader.first_number", "number of the first file that the loader looks for (0)"},
    {"loader.offset", "element of the saved parameters at which the model's begin (0)"},
    {"loader.pad", "multiple that the loader believes the saved parameters are padded to (saved_pad)"},
    {"loader.samples", "samples that the earlier job had read by saved_steps, which are passed over"},
    {"loader.shards", "files that the loader reads (saved_ranks)"},
    {"loss.normaliser",
     "what loss and gradient are divided by (normalise): 0 samples, 1 the step's tokens, 2 those of each "
     "rank, 3 those of each micro-batch"},
    {"loss_scale.factor", "what the loss scale is divided by after an overflow (2)"},
    {"loss_scale.initial", "loss scale of the first step (loss_scale)"},
    {"loss_scale.unscale", "what gradients are divided by to undo the loss scale (the scale itself)"},
    {"loss_scale.update", "lower the loss scale after an overflow"},
    {"overflow.agree", "ranks agree on whether one of them overflowed; left out, each believes its own flag"},
    {"overflow.flag", "1: this rank saw an overflow in its gradients; 0: it did not"},
    {"overflow.skip_step", "leave the optimizer's step out after an overflow"},
    {"overlap.stream",
     "reduce on a stream of its own beside backward; left out, backward waits for each reduction"},
    {"saved.first_number", "number of the first file that the earlier job wrote (0)"},
    {"tokens.all_reduce",
     "add up the step's tokens over all ranks; left out, each divides the sum by its own tokens, times "
     "the ranks, so that replicas part. A mean of the ranks' own means is `normalise`"},
    {"unused.find",
     "count parameters as ready that get no gradient in a step (branch_one_in); left out, a rank that "
     "has "
     "some never reduces its buckets and fails"},
    {"weights.assign", "copy fetched weights into the model; left out, it trains from its random ones"},
    {"weights.download", "fetch pretrained weights to the node's disk; the first rank of each node does"},
};

// zero and fsdp.
constexpr CodePlace sharding_places[] = {
    {"buffer.clear",
     "set a flat buffer to zero before it is filled; left out, what was there stays where nothing "
     "is written"},
    {"clip.formula",
     "0: squares are added up over all shards, and the root is the norm; 1: the shards' norms are added "
     "up"},
    {"experts.gather_all",
     "gather all experts of a mixture, and a last layer that some samples pass by, on every rank; left out, "
     "each rank gathers what its samples need"},
    {"fetch.clear",
     "set the buffer to zero in which parameters are fetched by all-reduce; left out, old memory "
     "joins the sum"},
    {"fetch.mark_empty",
     "count parameters without elements as fetched; left out, they are waited for and never there"},
    {"fetch.own_memory",
     "wait until gradients are reduced before parameters are fetched into their buffer; left out, what "
     "is "
     "fetched is reduced (share_buffer)"},
    {"gather.output", "elements of the buffer that an all-gather fills (ranks × part)"},
    {"gather.type", "0: that buffer has the type of the part; 1: another one"},
    {"gradient.reduce", "sum gradients, or reduce them to shards"},
    {"gradient.reduce_scatter", "reduce a layer's gradient to the shards of its owners"},
    {"offload.copy_wait", "wait for the copy of the gradient to the host before the optimizer reads it"},
    {"offload.queue_guard", "wait for the swap queue only when something is in it"},
    {"optimizer.index_bits", "bits with which the optimizer counts elements (64)", "bits"},
    {"pack.filled", "elements of a flat buffer that count as filled and are reduced (all)"},
    {"pack.stride", "elements from one layer to the next while a flat buffer is filled (the layer's length)"},
    {"pack.wait", "wait for the last copy into a flat buffer before it is reduced"},
    {"parameter.gather", "gather the full parameters before a step uses them"},
    {"parameters.reshard",
     "drop gathered layers after the optimizer's step; left out, old ones are used again"},
    {"partition.skip_empty", "leave ranks out that own no part of the parameters"},
    {"prefetch.layer", "layer that is gathered ahead of its use (the next one)"},
    {"reduce.wait", "wait for the shards' reductions before the optimizer uses them"},
    {"sampler.balance", "1: every rank gets the same amount of work; 0: as long as its own samples are"},
    {"scatter.input", "elements of the buffer that a reduce-scatter takes (ranks × part)"},
    {"scatter.type", "0: the part has the type of that buffer; 1: another one"},
    {"secondary.invalidate", "gather parameters anew after an update; left out, an old copy is used"},
    {"sharding.size", "ranks over which memory is divided (all)"},
    {"tensor.dimension", "dimension along which gathered parts are put together (0)"},
    {"zero.stage", "what is in shards: 1 optimizer state, 2 and gradients, 3 and parameters (stage)"},
};

// tensor_parallel, context_parallel and expert_parallel.
constexpr CodePlace splitting_places[] = {
    {"all_to_all.sizes",
     "ranks that the sizes of an all-to-all are written for (the group's size); any other is refused by "
     "the framework"},
    {"all_to_all.split", "place in the buffer at which a rank's part is put (the peer's own place)"},
    {"attention.exchange", "pass keys and values on around the ring, in forward"},
    {"attention.exchange_back", "pass their gradients back, in backward"},
    {"backward.all_reduce", "sum the gradient of a layer's input over the tensor-parallel group"},
    {"column.gather", "put the columns of a layer side by side, over the tensor-parallel group"},
    {"combine.exchange", "all-to-all that brings the experts' results back"},
    {"context.gradient_reduce", "sum gradients over the ranks that share a sequence"},
    {"context.ring_peer", "rank that keys, values and gradients are passed on to (the neighbour)"},
    {"cp.size", "ranks that share a sequence (cp_size)"},
    {"dispatch.exchange", "all-to-all that takes tokens to their experts"},
    {"dispatch.layout", "0: tokens lie by expert rank, as the receiver reads them; 1: by place first"},
    {"ep.size", "ranks that the experts are spread over (ep_size)"},
    {"expert.first", "first expert that this rank holds"},
    {"expert.gradient_all_reduce", "sum an expert's gradients over its replicas"},
    {"expert.gradient_divisor", "what an expert's gradients are divided by (samples of all ranks)"},
    {"group.order", "0: ranks are cut into tensor-parallel groups first; 1: into data-parallel ones first"},
    {"loss.reduce", "sum the output over the ranks that share a sequence, before the loss"},
    {"norm.contribution",
     "1: this rank's part counts in the norm of the gradient; 0: it does not; more: several times"},
    {"replicated.all_reduce", "sum the gradient of layers that all ranks of a tensor-parallel group hold"},
    {"router.capacity", "tokens of a rank that one expert rank takes (batch); those beyond are dropped"},
    {"router.choice", "expert that a token is sent to"},
    {"sequence.offset", "position in the sequence at which this rank's part begins"},
};

// pipeline.
constexpr CodePlace pipeline_places[] = {
    {"gradient.clear", "set gradients to zero at the beginning of a step"},
    {"labels.micro_batch", "micro-batch whose labels the loss is compared with (its own)"},
    {"loss.broadcast", "tell all stages the loss that the last one computed"},
    {"p2p.blocking", "0: a send goes on by itself; 1: it returns only when the peer has taken it"},
    {"p2p.keep_buffer", "keep a message's buffer until it is sent; left out, it is overwritten at once"},
    {"p2p.peer", "stage that a message is sent to (the next one; the previous one in backward)"},
    {"p2p.shape",
     "tell the next stage the shape of a message first; left out, it keeps that of the first one"},
    {"p2p.source", "stage that a message is received from"},
    {"p2p.wait_send", "wait for the sends of a step at its end"},
    {"pp.size", "stages of the pipeline (pp_size)"},
    {"round.accumulate",
     "begin a round of the schedule with what the rounds before it added to the gradients"},
    {"round.divisor", "what accumulated gradients are divided by after each round of the schedule (1)"},
    {"schedule.warm_up",
     "forward passes of a stage before its first backward pass, beyond those it needs (0); no more than "
     "there are micro-batches for"},
    {"stage.balance",
     "count the output head as layers when stages are cut; left out, it comes on top of the last one"},
    {"stage.first_layer", "first layer of a stage"},
    {"stage.layers", "layers of a stage"},
    {"stage.work", "work of a stage (1000, an even share)", "thousandths of an even share"},
};

// serving and reshard.
constexpr CodePlace serving_places[] = {
    {"checkpoint.gather", "send this rank's part of the state to where it is saved"},
    {"draft.agree", "rank 0 tells how many tokens were drafted; left out, each rank believes its own count"},
    {"draft.length", "tokens that a rank wants to draft for this batch (tokens)"},
    {"graph.agree",
     "rank 0 tells which captured graph is played; left out, each rank believes its own choice"},
    {"graph.chosen",
     "captured graph that a rank plays: 0 the one for this batch, 1 one that pads it to twice the size"},
    {"heads.check", "refuse a model whose attention heads the ranks cannot share evenly"},
    {"kernel.result", "first number that a rank's own kernel gives, before ranks are summed", "1/65536"},
    {"model.heads", "attention heads of the model (width)"},
    {"optimizer.state_restore", "take the optimizer's state from the checkpoint as well"},
    {"reshard.check_complete", "refuse a checkpoint of which a shard is missing"},
    {"reshard.merge",
     "read all old shards and cut them anew; left out, a rank reads the one with its own number"},
    {"reshard.shards_expected", "shards that a checkpoint must have (those that were written)"},
    {"sampler.token", "token that a rank draws from its logits"},
    {"serving.dummy_run",
     "a replica without requests goes through an empty step, so that the others do not wait"},
    {"serving.in_flight", "requests that are answered at once (batch)"},
    {"signal.wait", "wait for all partial sums before the result of a hand-written all-reduce is read"},
    {"token.broadcast", "rank 0 tells which tokens were drawn; left out, each rank goes on with its own"},
};

// elastic.
constexpr CodePlace elastic_places[] = {
    {"commit.vote",
     "ask all members whether a step went well; left out, a replica takes its own reduction's word"},
    {"heal.optimizer", "take over the optimizer's state with the parameters, from a peer or a checkpoint"},
    {"heal.parameters",
     "copy what a peer or a checkpoint gave into the parameters; left out, only the step is taken over"},
    {"local.copy",
     "keep the copy of another node's part of a checkpoint; left out, it is received and dropped"},
    {"quorum.step", "step that a replica says it is ready to make (its own)"},
};

}  // namespace

const std::vector<CodePlace>& places() {
    static const std::vector<CodePlace> all = [] {
        std::vector<CodePlace> rows;
        for (const auto some : std::initializer_list<std::span<const CodePlace>>{
                 shared_places, job_places, whole_model_places, sharding_places, splitting_places,
                 pipeline_places, serving_places, elastic_places}) {
            rows.insert(rows.end(), some.begin(), some.end());
        }
        std::sort(rows.begin(), rows.end(),
                  [](const CodePlace& a, const CodePlace& b) { return a.name < b.name; });
        return rows;
    }();
    return all;
}

namespace {

const CodePlace* place_named(std::string_view name) {
    const auto found =
        std::lower_bound(places().begin(), places().end(), name,
                         [](const CodePlace& place, std::string_view word) { return place.name < word; });
    return found != places().end() && found->name == name ? &*found : nullptr;
}

}  // namespace

std::string_view meaning_of_place(std::string_view name) {
    const CodePlace* place = place_named(name);
    return place ? place->meaning : std::string_view();
}

std::string_view unit_of_place(std::string_view name) {
    const CodePlace* place = place_named(name);
    return place ? place->unit : std::string_view();
}

}  // namespace deadrank::sim
