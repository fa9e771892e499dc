// sim/workloads/reshard.cpp — Trains sharded, saves, and goes on with another number of ranks: the new owners
// read the old shards. Old shard i of n holds [i × length, …) of the flat parameters; who reads what, and in
// which order, is where it breaks.
#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <vector>

#include "sim/workloads/job.h"
#include "sim/workloads/workload_catalog.h"

namespace deadrank::sim {

namespace {

struct ReshardSettings : JobSettings {
    using JobSettings::JobSettings;

    std::int64_t ranks_before = integer(
        "ranks_before", "", "ranks that train until the checkpoint; the others come then. Absent = all", 1);
    std::int64_t ranks_after = integer("ranks_after", "4", "ranks that go on after the checkpoint", 1);
    bool strict_data_state = flag("strict_data_state", "",
                                  "refuse positions of data loaders that another number of ranks has saved");
};

scenarios::Kind reshard_words() {
    scenarios::Kind kind =
        job_words("reshard", "sharded training that resumes from its checkpoint on fewer or more ranks");
    kind.phases.push_back({"checkpoint"});  // the one between its two halves, which it always makes
    leave_out(kind,
              {"checkpoint.", "rng.", "group.", "condition.", "activations."},
              {"checkpoint.writer", "checkpoint.shard", "checkpoint.sync"});
    for (const char* seam :
         {"reshard.shards_expected", "gradient.divisor", "loss.divisor"}) {
        kind.seams.emplace_back(seam);
    }
    for (const char* block :
         {"reshard.check_complete", "optimizer.state_restore", "checkpoint.gather", "reshard.merge"}) {
        kind.blocks.emplace_back(block);
    }
    return kind;
}

std::string shard_name(std::int64_t shard) { return fmt::format("checkpoint/resharded/shard{}", shard); }

void save_shard(Job& job, std::int64_t step, std::int64_t shard, Rank shards, std::span<const Number> mine) {
    World& world = job.world();
    const bool writes = world.block("checkpoint.gather") && world.seam("checkpoint.writer", 1) != 0;
    const std::int64_t number = writes ? world.seam("checkpoint.shard", shard) : -1;
    if (shards == job.size()) job.check_writers(number, shard, shards);  // asks all ranks
    if (!writes) return;
    const std::string path = shard_name(number);
    std::vector<Number> content{shard, static_cast<Number>(mine.size())};
    content.insert(content.end(), mine.begin(), mine.end());
    const Code result = world.storage().write(path, content);
    if (world.block("checkpoint.sync")) world.storage().sync(path);
    world.record(results::CheckpointSave{step, static_cast<std::int64_t>(content.size() * sizeof(Number)),
                                         digest_of(content), static_cast<std::int32_t>(shard), shards,
                                         world.text(path), result});
    if (result != Code::ok) {
        throw RankFailure(fmt::format("RuntimeError: saving {} failed: {}", path, results::name_of(result)));
    }
}

// All old shards in the order of their numbers (or, wrongly, of their names as text), merged into the flat
// parameters.
std::vector<Number> merged(Job& job, std::int64_t step, std::int64_t total, Rank shards) {
    World& world = job.world();
    std::vector<std::string> names = world.storage().list("checkpoint/resharded/shard");
    const auto number_of = [](const std::string& name) {
        std::int64_t number = 0;
        const auto digits = name.find_last_not_of("0123456789") + 1;
        std::from_chars(name.data() + digits, name.data() + name.size(), number);
        return number;
    };
    std::sort(names.begin(), names.end(),
              [&](const std::string& a, const std::string& b) { return number_of(a) < number_of(b); });
    // Without a merge each new owner reads the shard of its own number, which is all as long as ranks stay.
    if (!world.block("reshard.merge")) names = {shard_name(job.rank())};
    const std::int64_t expected = world.seam("reshard.shards_expected", shards);
    if (world.block("reshard.check_complete") && static_cast<std::int64_t>(names.size()) != expected) {
        throw RankFailure(
            fmt::format("ValueError: Expected {} of 'shard*' under 'checkpoint/resharded' but found {} "
                        "files. Possibly due "
                        "to an overwrite of an old checkpoint, or a checkpoint didn't get saved by one or "
                        "more processes.",
                        expected, names.size()));
    }
    std::vector<Number> flat;
    for (const std::string& name : names) {
        std::vector<Number> content;
        Code result = world.storage().read(name, content);
        if (result == Code::ok &&
            (content.size() < 2 || content.size() - 2 != static_cast<std::size_t>(content[1]))) {
            result = Code::corrupt;
        }
        world.record(results::CheckpointLoad{step, static_cast<std::int64_t>(content.size() * sizeof(Number)),
                                             digest_of(content), static_cast<std::int32_t>(number_of(name)),
                                             shards, world.text(name), result});
        if (result != Code::ok) {
            throw RankFailure(fmt::format(
                "RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central "
                "directory: '{}'",
                name));
        }
        flat.insert(flat.end(), content.begin() + 2, content.end());
    }
    if (static_cast<std::int64_t>(flat.size()) < total) {
        throw RankFailure(fmt::format(
            "ValueError: loaded state dict contains a parameter group that doesn't match the size "
            "of optimizer's group ({} numbers, {} parameters)",
            flat.size(), total));
    }
    flat.resize(static_cast<std::size_t>(total));
    return flat;
}

// ZeRO-1 over `comm`: each rank updates its part, then all ranks gather. `loaders`: so many ranks' positions
// are all that its data loaders can restore; -1 = any number's.
Number sharded_step(Job& job, Comm& comm, std::int64_t step, std::vector<Number>& full, std::int64_t length,
                    std::int64_t position, Rank loaders) {
    World& world = job.world();
    const ModelShape shape = job.shape();
    world.phase(results::Phase::data);
    const auto samples = job.batch(step, comm.rank(), comm.size(), position);
    if (loaders >= 0 && comm.size() != loaders) {  // a loader restores its state when it is first asked
        throw RankFailure(
            fmt::format("ValueError: cannot restore the data loaders: the checkpoint has the state of {} "
                        "data-parallel ranks, this job has {}",
                        loaders, comm.size()));
    }
    world.phase(results::Phase::forward);
    world.device().compute(job.settings().step_time);
    std::vector<Number> gradient(full.size(), 0);
    Number loss = 0;
    for (const std::int64_t sample : samples) loss = plus(loss, train_sample(shape, full, sample, gradient));
    world.phase(results::Phase::reduce);
    comm.all_reduce(gradient);
    Number logged[] = {loss};
    comm.all_reduce(logged);
    world.phase(results::Phase::optimizer);
    const auto padded = static_cast<std::size_t>(length * comm.size());
    full.resize(padded, 0);
    gradient.resize(padded, 0);
    const std::int64_t everything = std::int64_t{comm.size()} * static_cast<std::int64_t>(samples.size());
    const auto from = static_cast<std::ptrdiff_t>(length * comm.rank());
    std::vector<Number> mine(full.begin() + from, full.begin() + from + static_cast<std::ptrdiff_t>(length));
    descend(mine,
            std::span(gradient).subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(length)),
            world.seam("gradient.divisor", everything), job.learning_rate(step));
    comm.all_gather(mine, full);
    full.resize(static_cast<std::size_t>(shape.parameters()));
    job.digest(step, "replica", "parameters", full);
    return scaled(logged[0], 1, world.seam("loss.divisor", everything));
}

std::vector<Rank> first_ranks(Rank count) {
    std::vector<Rank> ranks;
    for (Rank rank = 0; rank < count; ++rank) ranks.push_back(rank);
    return ranks;
}

void reshard_rank(World& world, const ReshardSettings& settings) {
    Job job(world, settings);
    job.start();
    const std::int64_t total = job.shape().parameters();
    const std::int64_t half = settings.steps / 2;
    const Rank after = std::min(static_cast<Rank>(settings.ranks_after), job.size());
    const Rank before = settings.ranks_before == 0
                            ? job.size()
                            : std::min(static_cast<Rank>(settings.ranks_before), job.size());
    std::vector<Number> full = initial_parameters(job.shape(), world.seam("model.seed", settings.seed));
    job.memory().load({total, total, 2 * ((total + job.size() - 1) / job.size())}, total, job.shape().layers);
    const std::unique_ptr<Comm> own_first =
        before < job.size() ? job.group("earlier", first_ranks(before)) : nullptr;
    Comm& first = own_first ? *own_first : job.comm();
    std::unique_ptr<Comm> second;
    const bool goes_on = job.rank() < after;  // the others are given back to the scheduler
    const auto step_of_both = [&](std::int64_t step) {
        if (step < half) {
            const std::int64_t length = (total + before - 1) / before;
            const Number loss = sharded_step(job, first, step, full, length, step, -1);
            if (step == half - 1) {
                world.phase(results::Phase::checkpoint);
                std::vector<Number> padded = full;
                padded.resize(static_cast<std::size_t>(length * before), 0);
                save_shard(job, step, job.rank(), before,
                           std::span(padded).subspan(static_cast<std::size_t>(length * job.rank()),
                                                     static_cast<std::size_t>(length)));
                job.comm().barrier();
            }
            return StepResult{loss, 0};
        }
        if (!second) {
            second = job.group("resumed", first_ranks(after));
            const std::vector<Number> restored = merged(job, step - 1, total, before);
            if (world.block("optimizer.state_restore")) full = restored;
            job.digest(step - 1, "resumed", "restored", full);
        }
        // The data position counts samples, not steps: what was read is not read again by more or fewer.
        const std::int64_t read = (half * before + after - 1) / after;
        const Number loss = sharded_step(job, *second, step, full, (total + after - 1) / after,
                                         read + step - half, settings.strict_data_state ? before : -1);
        return StepResult{loss, 0};
    };
    if (job.rank() >= before) {  // started when the others have saved
        job.comm().barrier();
        job.begin_at(half);
    }
    job.train(step_of_both, goes_on ? -1 : half);
}

}  // namespace

extern const WorkloadRow reshard_row{[] {
    return workload(
        reshard_words(), reshard_rank,
        checkpoint_settings_and({"dropout", "audit", "reference", "assert_equal", "micro_batches", "groups",
                                 "conditional_reduce", "activation_size", "detach_logged"}));
}};

}  // namespace deadrank::sim
