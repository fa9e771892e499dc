// sim/workloads/checkpoint.cpp — Sharded checkpoints: each shard is written aside, synced and renamed; rank 0
// then moves `latest`. A checkpoint is current only when its marker says so; what a skipped sync or a torn
// write does to that is the point.
#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>
#include <utility>

#include "sim/parts/release_breaks.h"
#include "sim/workloads/job.h"

namespace deadrank::sim {

namespace {

constexpr std::string_view marker = "checkpoint/latest";

}  // namespace

std::string Job::shard_path(std::int64_t step, int shard) const {
    if (settings_.commit == CommitPolicy::in_place)
        return fmt::format("checkpoint/last/shard{}of{}", shard, state_.shards);
    return fmt::format("checkpoint/step{}/shard{}of{}", step, shard, state_.shards);
}

// Every so many steps, which all ranks count alike; or by the clock, which each rank reads for itself unless
// one decides for all.
bool Job::save_is_due(std::int64_t step) {
    const std::int64_t every = settings_.checkpoint_every;
    if (every > 0 && (step + 1) % every == 0) return true;
    const results::Time interval = settings_.checkpoint_interval;
    if (interval <= results::Time{0}) return false;
    Number due[] = {world_.timer().now() - saved_ >= interval ? 1 : 0};
    if (settings_.checkpoint_agreed) comm().broadcast(due, 0, Dtype::i32);
    return due[0] != 0;
}

void Job::save(std::int64_t step) {
    if (!state_.numbers) return;
    saved_ = world_.timer().now();
    if (settings_.checkpoint_finish > 0) {  // training goes on; what is saved is what there is now
        if (settings_.helper_ends == HelperEnds::raise)
            ask_helper(world_.seam("checkpoint.helper", 0),
                       "RuntimeError: Checkpoint background process encountered an error and died");
        finish_saves(std::numeric_limits<std::int64_t>::max());
        open_save_ = OpenSave{.step = step, .captured = {}};
        if (world_.block("checkpoint.capture")) open_save_->captured = *state_.numbers;
        return;
    }
    (void)world_.block("checkpoint.capture");  // what is written at once needs no copy
    world_.phase(results::Phase::checkpoint);
    write_own(step, *state_.numbers);
    publish(step);
    world_.phase(results::Phase::none);
}

// Of replicas that hold the same shard the first one is to write it.
void Job::write_own(std::int64_t step, std::span<const Number> numbers) {
    const bool writes = world_.seam("checkpoint.writer", state_.writer ? 1 : 0) != 0;
    const std::int64_t shard = writes ? world_.seam("checkpoint.shard", state_.shard) : -1;
    check_writers(shard, state_.writer ? state_.shard : -1, state_.shards);
    if (writes) write_shard(step, static_cast<int>(shard), numbers);
}

void Job::publish(std::int64_t step) {
    if (world_.block("checkpoint.wait_for_all")) world_comm_->barrier();
    if (rank_ == 0 && world_.block("checkpoint.publish")) {
        const Number latest[] = {world_.seam("checkpoint.step", step)};
        world_.storage().write(marker, latest);
    }
}

// A save that went on beside training has reached the disk by `step`.
void Job::finish_saves(std::int64_t step) {
    if (!open_save_ || step < open_save_->step + settings_.checkpoint_finish) return;
    const OpenSave save = *std::exchange(open_save_, std::nullopt);
    if (world_.seam("checkpoint.helper", 0) != 0) return;  // nobody is left to write it, and nobody looks
    world_.phase(results::Phase::checkpoint);
    write_own(save.step, save.captured ? *save.captured : *state_.numbers);
    publish(save.step);
    world_.phase(results::Phase::none);
}

// As megatron-core's validate_access_integrity counts them.
void Job::check_writers(std::int64_t shard, std::int64_t held, std::int64_t shards) {
    if (!settings_.validate_access) return;
    const Number mine[] = {shard, held};
    std::vector<Number> all(2 * static_cast<std::size_t>(size_));
    comm().all_gather(mine, all, Dtype::i32);
    for (Number wanted = 0; wanted < shards; ++wanted) {
        std::vector<Rank> writers, holders;
        for (Rank rank = 0; rank < size_; ++rank) {
            const auto at = 2 * static_cast<std::size_t>(rank);
            if (all[at] == wanted) writers.push_back(rank);
            if (all[at + 1] == wanted) holders.push_back(rank);
        }
        if (writers.size() == 1) continue;
        throw RankFailure(fmt::format(
            "CheckpointingException: saving checkpoint: invalid access pattern for shard {} of {}: {}",
            wanted, shards,
            writers.empty() ? fmt::format("rank {} holds it, and no rank writes it", fmt::join(holders, ", "))
                            : fmt::format("ranks {} write it", fmt::join(writers, ", "))));
    }
}

void Job::write_shard(std::int64_t step, int shard, std::span<const Number> numbers) {
    const std::string path = shard_path(step, shard);
    const std::string aside = path + ".tmp";
    std::vector<Number> content{step, shard, state_.shards};
    content.insert(content.end(), numbers.begin(), numbers.end());
    if (settings_.optimizer_steps) content.push_back(optimizer_steps_);
    const auto shown = [&](std::size_t elements, Code result) {
        world_.record(results::CheckpointSave{step, static_cast<std::int64_t>(elements * sizeof(Number)),
                                              digest_of(content), shard, state_.shards, world_.text(path),
                                              result});
    };
    if (state_.ready && !*state_.ready) {
        shown(0, Code::ok);
        throw RankFailure(fmt::format(
            "AssertionError: saving {}: the optimizer state is empty, no step has been taken yet", path));
    }
    // megatron-core 0.14 took flattened shards out of what can be saved.
    const bool flattened = settings_.sharding == StateSharding::flattened;
    if (flattened && release_of(world_.env().version("megatron-core")) >= Release{0, 14}) {
        shown(content.size(), Code::invalid_argument);
        throw RankFailure(fmt::format(
            "CheckpointingException: saving {}: ShardedTensor.flattened_range is not supported", path));
    }
    const bool in_place = settings_.commit == CommitPolicy::in_place;
    Code result = Code::ok;
    if (in_place) {  // piece after piece into the file that is there
        result = world_.storage().write(path, std::span(content).first(content.size() / 2));
        if (result == Code::ok) result = world_.storage().write(path, content);
    } else {
        result = world_.storage().write(aside, content);
    }
    if (result == Code::ok && world_.block("checkpoint.sync"))
        result = world_.storage().sync(in_place ? path : aside);
    if (result == Code::ok && !in_place) result = world_.storage().rename(aside, path);
    if (!world_.block("checkpoint.close") && world_.storage().leave_open(path) != Code::ok)
        throw RankFailure(fmt::format("OSError: [Errno 24] Too many open files: '{}'", path));
    shown(content.size(), result);
    if (result != Code::ok) {
        throw RankFailure(fmt::format("RuntimeError: saving {} failed: {}", path, results::name_of(result)));
    }
}

// The step of the newest checkpoint, -1 where there is none to be seen. Ranks that look for themselves may
// see different things on a network file system; a rank that sees nothing after a restart waits for it to
// appear, and never comes to the announcement.
std::int64_t Job::checkpoint_to_load() {
    const bool agreed = settings_.load == LoadPolicy::agreed;
    const bool announced = settings_.load == LoadPolicy::announced;
    std::vector<Number> latest;
    const auto look = [&] {
        const bool there = world_.storage().read(marker, latest) == Code::ok && !latest.empty();
        if (world_.seam("checkpoint.visible", there ? 1 : 0) == 0) latest.clear();
    };
    if (!agreed || rank_ == 0) look();
    const Time patience = announced && world_.attempt() > 0 ? settings_.store_timeout : Time{0};
    for (Time waited{0}; latest.empty() && waited < patience; waited += std::chrono::seconds(1)) {
        world_.timer().sleep(std::chrono::seconds(1));
        look();
    }
    Number step[] = {latest.empty() ? -1 : latest.front()};
    if (agreed || (announced && step[0] >= 0)) comm().broadcast(step, 0);
    return step[0];
}

void Job::restore() {
    if (!state_.numbers || !settings_.resume) return;
    const std::int64_t step = checkpoint_to_load();
    if (step < 0) return;
    const std::string path =
        shard_path(step, static_cast<int>(world_.seam("checkpoint.load_shard", state_.shard)));
    std::vector<Number> content;
    Code result = world_.storage().read(path, content);
    const std::size_t around = settings_.optimizer_steps ? 4 : 3;  // numbers beside the state's own
    if (result == Code::ok && content.size() != state_.numbers->size() + around) result = Code::corrupt;
    world_.record(results::CheckpointLoad{step, static_cast<std::int64_t>(content.size() * sizeof(Number)),
                                          digest_of(content), state_.shard, state_.shards, world_.text(path),
                                          result});
    if (result == Code::not_found) {
        throw RankFailure(fmt::format("FileNotFoundError: [Errno 2] No such file or directory: '{}'", path));
    }
    if (result != Code::ok) {
        throw RankFailure(fmt::format(
            "RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central "
            "directory: '{}'",
            path));
    }
    call_across_releases(world_, Calling::load);
    if (settings_.optimizer_steps) {
        optimizer_steps_ = world_.seam("optimizer.restored_step", content.back());
        content.pop_back();
    }
    if (world_.block("checkpoint.restore")) {
        // Groups of parameters are matched by their places, which hold as long as they are not reordered.
        const std::int64_t first = world_.seam("checkpoint.first_parameter", 0);
        const auto from = content.begin() + 3;
        const auto held = static_cast<std::int64_t>(content.size()) - 3;
        std::rotate_copy(from, from + (first % held + held) % held, content.end(), state_.numbers->begin());
    }
    first_step_ = step + 1;
}

}  // namespace deadrank::sim
