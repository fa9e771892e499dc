// sim/workloads/serving.cpp — Tensor-parallel inference: rank 0 of each group schedules requests, all ranks
// compute their columns, the next token is a function of the summed result. What is served is compared with
// one device answering alone.
#include <algorithm>
#include <fmt/format.h>
#include <vector>

#include "sim/workloads/job.h"
#include "sim/workloads/workload_catalog.h"

namespace deadrank::sim {

namespace {

struct ServingSettings : JobSettings {
    using JobSettings::JobSettings;

    std::int64_t tp_size = integer("tp_size", "4", "ranks that answer together", 1);
    std::int64_t tokens = integer("tokens", "4", "tokens of an answer", 1);
    std::int64_t stop =
        integer("stop", "0", "an answer ends early at a token that this number divides; 0 = never");
    bool agree =
        flag("agree", "true", "rank 0 of a group decides on tokens, drafts and graphs for all of it");
    bool disable_custom_all_reduce =
        flag("disable_custom_all_reduce", "", "sum over the library instead of by a kernel of the engine");
    bool replica_sync =
        flag("replica_sync", "false", "experts are spread over replicas: each step is a step of all of them");
    std::int64_t idle_every =
        integer("idle_every", "0", "the last replica has no request in every step of this number; 0 = never");
};

scenarios::Kind serving_words() {
    scenarios::Kind kind =
        job_words("serving", "tensor-parallel inference serving: batches of requests, token by token");
    for (const char* seam : {"shard.offset", "sampler.token", "serving.in_flight", "graph.chosen",
                             "draft.length", "tp.size", "kernel.result", "model.heads"}) {
        kind.seams.emplace_back(seam);
    }
    for (const char* block : {"token.broadcast", "graph.agree", "draft.agree", "row_parallel.all_reduce",
                              "serving.dummy_run", "signal.wait", "heads.check"}) {
        kind.blocks.emplace_back(block);
    }
    kind.phases = {{"serve"}, {"forward", "collect_every"}};
    leave_out(kind,
              {"checkpoint.", "rng.", "sampler.", "optimizer.learning_rate",
               "scheduler.", "loader.helper", "loader.busy", "loader.reads", "host.", "copy."},
              {"sampler.token", "sampler.steps"});
    return kind;
}

constexpr Number vocabulary = 32'000;
constexpr Time launch{10'000};  // what a library's kernel takes longer to start than one of the engine's own

// The token after `token` of a request, from the sum of all columns.
Number next_token(Number sum) {
    const Number one_sum[] = {sum};
    return static_cast<Number>(digest_of(one_sum) % static_cast<std::uint64_t>(vocabulary));
}

// What columns [first, first + count) contribute for an input token.
Number contribution(const ModelShape& shape, std::int64_t seed, std::int64_t request, Number token, int first,
                    int count) {
    Number sum = 0;
    for (int l = 0; l < shape.layers; ++l) {
        for (int j = first; j < first + count; ++j) {
            sum = plus(sum, times(initial_parameter(seed, l * shape.width + j),
                                  feature(request * vocabulary + token, j)));
        }
    }
    return sum;
}

// Refused in the words of the engine's configuration where not even one request fits.
std::int64_t in_flight(World& world, std::int64_t batch) {
    const std::int64_t most = world.seam("serving.in_flight", batch);
    if (most >= 1) return most;
    throw RankFailure(fmt::format(
        "ValueError: max_num_seqs: Input should be greater than or equal to 1 [input_value={}]", most));
}

// Answers under way: those that are complete leave the batch, and the next round is smaller.
struct InFlight {
    std::vector<std::int64_t> requests;
    std::vector<Number> tokens;

    void retire(std::int64_t stop) {
        if (stop <= 0) return;
        std::size_t kept = 0;
        for (std::size_t r = 0; r < tokens.size(); ++r) {
            if (tokens[r] % stop == 0) continue;
            requests[kept] = requests[r];
            tokens[kept++] = tokens[r];
        }
        requests.resize(kept);
        tokens.resize(kept);
    }
};

// With experts on other replicas no replica computes alone: all agree on the size of the step, then exchange
// tokens. A replica without a request has to come as well.
void meet_replicas(Job& job, std::int64_t batch) {
    World& world = job.world();
    if (batch > 0 || world.block("serving.dummy_run")) {
        Number largest[] = {batch};
        job.comm().all_reduce(largest, ReduceOp::max, Dtype::i32);
    }
    const std::vector<Number> sent(static_cast<std::size_t>(job.size()), batch);
    Number arrived[] = {0};
    job.comm().reduce_scatter(sent, arrived);
}

// The same answers on one device.
std::vector<Number> alone(const ModelShape& shape, std::int64_t seed, std::int64_t request,
                          std::int64_t count, std::int64_t stop) {
    std::vector<Number> tokens;
    Number token = request % vocabulary;
    for (std::int64_t t = 0; t < count; ++t) {
        token = next_token(contribution(shape, seed, request, token, 0, shape.width));
        tokens.push_back(token);
        if (stop > 0 && token % stop == 0) break;
    }
    return tokens;
}

// The ranks that answer together, and this rank's columns of every layer.
struct ServingShard {
    ModelShape shape;
    Rank ranks;
    std::unique_ptr<Comm> tp;
    int first;
    int columns;
};

ServingShard serving_shard(Job& job, std::int64_t wanted) {
    World& world = job.world();
    ModelShape shape = job.shape();
    shape.width = static_cast<int>(world.seam("model.heads", shape.width));
    const auto ranks = static_cast<Rank>(world.seam("tp.size", wanted));
    if (ranks <= 0 || job.size() % ranks != 0) {
        throw RankFailure(
            fmt::format("RuntimeError: world_size ({}) is not divisible by {}", job.size(), ranks));
    }
    if (world.block("heads.check") && shape.width % ranks != 0) {
        throw RankFailure(
            fmt::format("ValueError: total number of attention heads ({}) must be divisible by tensor "
                        "parallel size ({}).",
                        shape.width, ranks));
    }
    const Rank mine = job.rank() % ranks;
    auto tp = job.strided_group("tp", job.rank() - mine, 1, ranks);
    const int columns = shape.width / ranks;
    const int first =
        std::clamp(static_cast<int>(world.seam("shard.offset", mine * columns)), 0, shape.width - columns);
    job.layout("layer.columns", first, columns, shape.width);
    job.memory().load({std::int64_t{shape.layers} * columns, 0, 0}, shape.parameters(), shape.layers);
    return {shape, ranks, std::move(tp), first, columns};
}

// A rank of a replica, and what it does in a step: one batch of requests answered.
class ServingRank {
public:
    ServingRank(Job& job, const ServingSettings& settings)
        : job_(job),
          world_(job.world()),
          settings_(settings),
          shard_(serving_shard(job, settings.tp_size)),
          seed_(world_.seam("model.seed", settings.seed)),
          replica_(job.rank() / shard_.ranks) {}

    StepResult step(std::int64_t step) {
        world_.phase(results::Phase::serve);
        const bool idle = is_idle(step);
        const std::int64_t batch = idle ? 0 : in_flight(world_, settings_.batch);
        if (settings_.replica_sync) meet_replicas(job_, batch);
        if (idle) return {};
        const std::int64_t first_request = (replica_ * settings_.steps + step) * settings_.batch;
        show(step, first_request, answer_batch(first_request, batch));
        return {};
    }

private:
    using Answers = std::vector<std::vector<Number>>;  // tokens of each request

    bool is_idle(std::int64_t step) const {
        const bool last_replica = replica_ == job_.size() / shard_.ranks - 1;
        const std::int64_t every = settings_.idle_every;
        return last_replica && every > 0 && step % every == every - 1;
    }

    Answers answer_batch(std::int64_t first_request, std::int64_t batch) {
        InFlight open;
        for (std::int64_t r = 0; r < batch; ++r) {
            open.requests.push_back(first_request + r);
            open.tokens.push_back((first_request + r) % vocabulary);
        }
        job_.memory().activations(batch * settings_.tokens *
                                  shard_.columns);  // keys and values of every token
        Answers answers(open.requests.size());
        const Number rounds = agreed_rounds();
        for (Number round = 0; round < rounds && !open.requests.empty(); ++round) {
            world_.device().compute(settings_.step_time / settings_.tokens);
            open.tokens = next_tokens(std::move(open.tokens), open.requests);
            for (std::size_t r = 0; r < open.tokens.size(); ++r)
                answers[static_cast<std::size_t>(open.requests[r] - first_request)].push_back(open.tokens[r]);
            open.retire(settings_.stop);
        }
        return answers;
    }

    // Drafted tokens may end an answer early; all ranks must agree on how many there are.
    Number agreed_rounds() {
        Number rounds[] = {world_.seam("draft.length", settings_.tokens)};
        if (settings_.agree && world_.block("draft.agree")) shard_.tp->broadcast(rounds, 0, Dtype::i32);
        return rounds[0];
    }

    // One more token for each of `requests`.
    std::vector<Number> next_tokens(std::vector<Number> tokens, const std::vector<std::int64_t>& requests) {
        std::vector<Number> sums(tokens.size(), 0);
        for (std::size_t r = 0; r < tokens.size(); ++r) {
            sums[r] = contribution(shard_.shape, seed_, requests[r], tokens[r], shard_.first, shard_.columns);
        }
        sums.front() = world_.seam("kernel.result", sums.front());
        add_up(sums);
        for (std::size_t r = 0; r < tokens.size(); ++r)
            tokens[r] = world_.seam("sampler.token", next_token(sums[r]));
        if (settings_.agree && world_.block("token.broadcast")) shard_.tp->broadcast(tokens, 0, Dtype::i32);
        return tokens;
    }

    // Two kernels for one reduction: graph replay pads the batch. Ranks that choose apart do not match.
    void add_up(std::vector<Number>& sums) {
        Number graph[] = {world_.seam("graph.chosen", 0)};
        if (settings_.agree && world_.block("graph.agree")) shard_.tp->broadcast(graph, 0, Dtype::i32);
        std::vector<Number> padded = sums;
        if (graph[0] != 0) padded.resize(sums.size() * 2, 0);
        if (!world_.block("row_parallel.all_reduce")) return;
        const bool library_sums = settings_.disable_custom_all_reduce;
        if (library_sums) world_.device().compute(launch);
        auto work = shard_.tp->all_reduce_async(padded);
        const bool waits = library_sums || world_.block("signal.wait");
        if (waits) work->wait();
        for (std::size_t r = 0; r < sums.size(); ++r) sums[r] = padded[r];
        if (!waits) work->wait();
    }

    // The answers, and beside them what one device alone would say.
    void show(std::int64_t step, std::int64_t first_request, const Answers& answers) {
        const auto last = [](const std::vector<Number>& all) { return all.empty() ? 0 : all.back() * one; };
        for (std::size_t r = 0; r < answers.size(); ++r) {
            const std::int64_t request = first_request + static_cast<std::int64_t>(r);
            world_.record(results::ServeOutput{request, digest_of(answers[r]),
                                               static_cast<std::int32_t>(answers[r].size()), 1});
            if (!settings_.reference) continue;
            const auto right = alone(shard_.shape, settings_.seed, request, settings_.tokens, settings_.stop);
            job_.value(step, "reference.token", last(answers[r]), last(right));
        }
    }

    Job& job_;
    World& world_;
    const ServingSettings& settings_;
    ServingShard shard_;
    std::int64_t seed_;  // of the weights that this rank has loaded
    std::int64_t replica_;
};

void serving_rank(World& world, const ServingSettings& settings) {
    Job job(world, settings);
    job.start();
    ServingRank rank(job, settings);
    job.train([&](std::int64_t step) { return rank.step(step); });
}

}  // namespace

extern const WorkloadRow serving_row{[] {
    return workload(
        serving_words(), serving_rank,
        checkpoint_settings_and({"dropout", "audit", "learning_rate", "rate_scaling", "micro_batches",
                                 "shuffle", "samples", "assert_equal", "epoch_in_seed", "validate_access",
                                 "loader_time", "host_work", "copy_time"}));
}};

}  // namespace deadrank::sim
