// sim/workloads/checkpoint.cpp — Sharded checkpoints: each shard is written aside, synced and renamed; rank 0
// then moves `latest`. A checkpoint is current only when its marker says so; what a skipped sync or a torn
// write does to that is the point.
#include <algorithm>
#include <fmt/format.h>

#include "sim/workloads/job.h"

namespace deadrank::sim {

namespace {

constexpr std::string_view marker = "checkpoint/latest";

}  // namespace

std::string Job::shard_path(std::int64_t step, int shard) const {
    return fmt::format("checkpoint/step{}/shard{}of{}", step, shard, state_.shards);
}

void Job::save(std::int64_t step) {
    if (!state_.numbers) return;
    world_.phase(results::Phase::checkpoint);
    if (state_.writer) {
        const int shard = static_cast<int>(world_.seam("checkpoint.shard", state_.shard));
        const std::string path = shard_path(step, shard);
        const std::string aside = path + ".tmp";
        std::vector<Number> content{step, shard, state_.shards};
        content.insert(content.end(), state_.numbers->begin(), state_.numbers->end());
        Code result = world_.storage().write(aside, content);
        if (result == Code::ok && world_.block("checkpoint.sync")) result = world_.storage().sync(aside);
        if (result == Code::ok) result = world_.storage().rename(aside, path);
        if (!world_.block("checkpoint.close") && world_.storage().leave_open(path) != Code::ok)
            throw RankFailure(fmt::format("OSError: [Errno 24] Too many open files: '{}'", path));
        world_.record(
            results::CheckpointSave{step, static_cast<std::int64_t>(content.size() * sizeof(Number)),
                                    digest_of(content), shard, state_.shards, world_.text(path), result});
        if (result != Code::ok) {
            throw RankFailure(
                fmt::format("RuntimeError: saving {} failed: {}", path, results::name_of(result)));
        }
    }
    if (world_.block("checkpoint.wait_for_all")) world_comm_->barrier();
    if (rank_ == 0 && world_.block("checkpoint.publish")) {
        const Number latest[] = {world_.seam("checkpoint.step", step)};
        world_.storage().write(marker, latest);
    }
    world_.phase(results::Phase::none);
}

void Job::restore() {
    if (!state_.numbers || !settings_.flag("resume")) return;
    std::vector<Number> latest;
    if (world_.storage().read(marker, latest) != Code::ok || latest.empty()) return;
    const std::int64_t step = latest.front();
    const std::string path = shard_path(step, state_.shard);
    std::vector<Number> content;
    Code result = world_.storage().read(path, content);
    if (result == Code::ok && content.size() != state_.numbers->size() + 3) result = Code::corrupt;
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
    if (world_.block("checkpoint.restore"))
        std::copy(content.begin() + 3, content.end(), state_.numbers->begin());
    first_step_ = step + 1;
}

}  // namespace deadrank::sim
