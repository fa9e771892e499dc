// sim/workloads/checkpoint.cpp — Sharded checkpoints: each shard is written aside, synced and renamed; rank 0
// then moves `latest`. A checkpoint is current only when its marker says so; what a skipped sync or a torn
// write does to that is the point. And those without shared storage: parts on the nodes' own disks, each
// twice.
#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>
#include <utility>

#include "sim/framework_parts/release_breaks.h"
#include "sim/workloads/elastic.h"
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
            wait_for_lost_helper(world_.seam("checkpoint.helper", 0),
                                 "RuntimeError: Checkpoint background process encountered an error and died");
        finish_saves(std::numeric_limits<std::int64_t>::max());
        open_save_ = OpenSave{.step = step, .captured = *state_.numbers};
        return;
    }
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
        std::vector<Number> latest = {world_.seam("checkpoint.step", step)};
        if (resizes_) latest.push_back(samples_by(step));
        world_.storage().write(marker, latest);
        if (resizes_) world_.storage().sync(marker);  // others go on by it when this node is lost
    }
}

// A save that went on beside training has reached the disk by `step`.
void Job::finish_saves(std::int64_t step) {
    if (!open_save_ || step < open_save_->step + settings_.checkpoint_finish) return;
    const OpenSave save = *std::exchange(open_save_, std::nullopt);
    if (world_.seam("checkpoint.helper", 0) != 0) return;  // nobody is left to write it, and nobody looks
    world_.phase(results::Phase::checkpoint);
    write_own(save.step, save.captured);
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
    if (settings_.checkpoint_keys != StateKeys::none) {
        const std::vector<Number> parts = with_keys(numbers);
        content.insert(content.end(), parts.begin(), parts.end());
    } else {
        content.insert(content.end(), numbers.begin(), numbers.end());
        if (settings_.optimizer_steps) content.push_back(optimizer_steps_);
    }
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
    const bool agreed = settings_.load == LoadPolicy::agreed || settings_.load == LoadPolicy::root;
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
    std::vector<Number> found = {latest.empty() ? -1 : latest.front()};
    if (resizes_) found.push_back(latest.size() > 1 ? latest[1] : 0);
    if (agreed || (announced && found[0] >= 0)) comm().broadcast(found, 0);
    if (resizes_ && found[0] >= 0) go_on_at(found[0] + 1, found[1]);
    return found[0];
}

void Job::restore() {
    if (!state_.numbers || !settings_.resume) return;
    const std::int64_t step = checkpoint_to_load();
    if (step < 0) return;
    const auto shard = static_cast<int>(world_.seam("checkpoint.load_shard", state_.shard));
    const std::string path = shard_path(step, shard);
    std::vector<Number> content;
    Code result = read_state(step, shard, content);
    const bool keyed = settings_.checkpoint_keys != StateKeys::none;
    const std::size_t around = settings_.optimizer_steps ? 4 : 3;  // numbers beside the state's own
    if (result == Code::ok && !keyed && content.size() != state_.numbers->size() + around)
        result = Code::corrupt;
    if (settings_.load != LoadPolicy::root || rank_ == 0) {
        world_.record(results::CheckpointLoad{
            step, static_cast<std::int64_t>(content.size() * sizeof(Number)), digest_of(content),
            state_.shard, state_.shards, world_.text(path), result});
    }
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
    if (settings_.optimizer_steps && !keyed) {
        optimizer_steps_ = content.back();
        content.pop_back();
    }
    const bool takes = world_.block("checkpoint.restore");
    if (takes && keyed) take_keys(std::span<const Number>(content).subspan(3));
    if (takes && !keyed) {
        // Groups of parameters are matched by their places, which hold as long as they are not reordered.
        const std::int64_t first = world_.seam("checkpoint.first_parameter", 0);
        const auto from = content.begin() + 3;
        const auto held = static_cast<std::int64_t>(content.size()) - 3;
        std::rotate_copy(from, from + (first % held + held) % held, content.end(), state_.numbers->begin());
    }
    first_step_ = std::max<std::int64_t>(0, world_.seam("checkpoint.resumed_step", step + 1));
}

// ── Parts on the nodes' own disks. Which part lies where is asked of the members that are there now: places
// may have changed since it was written.

namespace {

constexpr std::int64_t nowhere = std::numeric_limits<std::int32_t>::max();
constexpr std::size_t part_header_size = 3;  // step, number and count stand before its numbers

std::string local_directory(const World& world) { return fmt::format("node{}/local/", world.node()); }

std::vector<std::int64_t> numbers_in(std::string_view text) {
    std::vector<std::int64_t> numbers;
    bool open = false;
    for (const char letter : text) {
        const bool digit = letter >= '0' && letter <= '9';
        if (digit && !open) numbers.push_back(0);
        if (digit) numbers.back() = 10 * numbers.back() + (letter - '0');
        open = digit;
    }
    return numbers;
}

}  // namespace

std::vector<LocalCopies::Part> LocalCopies::parts() const {
    const std::string directory = local_directory(world_);
    std::vector<Part> found;
    for (const std::string& path : world_.storage().list(directory)) {
        const auto numbers = numbers_in(std::string_view(path).substr(directory.size()));
        if (numbers.size() == 3) found.push_back({numbers[0], numbers[1], numbers[2], path});
    }
    return found;
}

bool LocalCopies::reduce(Comm& comm, std::span<Number> numbers, ReduceOp how) {
    const auto work = comm.all_reduce_async(numbers, how, Dtype::i64);
    return completed_in_time(world_, comm, *work, patience_);
}

void LocalCopies::write(const Part& part, std::span<const Number> numbers) {
    const std::string path =
        fmt::format("{}step{}/part{}of{}", local_directory(world_), part.step, part.number, part.of);
    std::vector<Number> content{part.step, part.number, part.of};
    content.insert(content.end(), numbers.begin(), numbers.end());
    Code result = world_.storage().write(path, content);
    if (result == Code::ok) result = world_.storage().sync(path);
    world_.record(results::CheckpointSave{part.step,
                                          static_cast<std::int64_t>(content.size() * sizeof(Number)),
                                          digest_of(content), static_cast<std::int32_t>(part.number),
                                          static_cast<std::int32_t>(part.of), world_.text(path), result});
    if (result != Code::ok)
        throw RankFailure(fmt::format("RuntimeError: saving {} failed: {}", path, results::name_of(result)));
}

bool LocalCopies::save(Comm& comm, std::int64_t step, std::span<const Number> state) {
    const std::int64_t of = comm.size(), mine = comm.rank();
    const std::size_t width =
        (state.size() + static_cast<std::size_t>(of) - 1) / static_cast<std::size_t>(of);
    std::vector<Number> own(width, 0), copy(width, 0);
    const std::size_t begin = std::min(state.size(), static_cast<std::size_t>(mine) * width);
    const auto part = state.subspan(begin, std::min(width, state.size() - begin));
    std::copy(part.begin(), part.end(), own.begin());
    write({step, mine, of, {}}, own);
    const auto apart = static_cast<Rank>(apart_ % of), from = static_cast<Rank>((mine - apart + of) % of);
    if (apart != 0) {
        const auto received = comm.recv_async(copy, from);
        const auto sent = comm.send_async(own, static_cast<Rank>((mine + apart) % of));
        if (!completed_in_time(world_, comm, *sent, patience_) ||
            !completed_in_time(world_, comm, *received, patience_))
            return false;
        if (world_.block("local.copy")) write({step, from, of, {}}, copy);
    }
    // The save before stays, since this one may not be whole everywhere.
    const auto there = parts();
    for (const Part& old : there) {
        const auto newer = std::count_if(there.begin(), there.end(), [&](const Part& other) {
            return other.number == old.number && other.step > old.step;
        });
        if (newer > 1 && (old.number == mine || old.number == from)) world_.storage().remove(old.path);
    }
    return true;
}

std::optional<std::int64_t> LocalCopies::restore(Comm& comm, std::vector<Number>& state) {
    constexpr Number ranks_max = 1 << 20;
    const auto there = parts();
    bool some = false;
    for (Number below = std::numeric_limits<Number>::max();;) {
        Number newest[] = {-1};
        for (const Part& part : there) {
            const Number code = part.step * ranks_max + part.of;
            if (code < below) newest[0] = std::max(newest[0], code);
        }
        if (!reduce(comm, newest, ReduceOp::max)) return std::nullopt;
        if (newest[0] < 0) break;
        some = true;
        below = newest[0];
        const std::int64_t step = below / ranks_max, of = below % ranks_max;
        std::vector<Number> holders(static_cast<std::size_t>(of), nowhere);
        for (const Part& part : there) {
            if (part.step == step && part.of == of)
                holders[static_cast<std::size_t>(part.number)] = comm.rank();
        }
        if (!reduce(comm, holders, ReduceOp::min)) return std::nullopt;
        if (std::count(holders.begin(), holders.end(), nowhere) > 0) continue;
        if (!gather(comm, step, holders, state)) return std::nullopt;
        return step;
    }
    if (!some) return -1;
    throw RankFailure("RuntimeError: no local checkpoint is complete: some part of each lies on no node");
}

bool LocalCopies::gather(Comm& comm, std::int64_t step, const std::vector<Number>& holders,
                         std::vector<Number>& state) {
    const std::size_t width = (state.size() + holders.size() - 1) / holders.size();
    std::vector<Number> whole(width * holders.size(), 0);
    for (std::size_t number = 0; number < holders.size(); ++number) {
        if (holders[number] != comm.rank()) continue;
        const std::string path =
            fmt::format("{}step{}/part{}of{}", local_directory(world_), step, number, holders.size());
        std::vector<Number> content;
        Code result = world_.storage().read(path, content);
        if (result == Code::ok && content.size() != width + part_header_size) result = Code::corrupt;
        world_.record(
            results::CheckpointLoad{step, static_cast<std::int64_t>(content.size() * sizeof(Number)),
                                    digest_of(content), static_cast<std::int32_t>(number),
                                    static_cast<std::int32_t>(holders.size()), world_.text(path), result});
        if (result != Code::ok)
            throw RankFailure(
                fmt::format("RuntimeError: reading {} failed: {}", path, results::name_of(result)));
        std::copy(content.begin() + part_header_size, content.end(),
                  whole.begin() + static_cast<std::ptrdiff_t>(number * width));
    }
    if (!reduce(comm, whole, ReduceOp::sum)) return false;
    std::copy_n(whole.begin(), state.size(), state.begin());
    return true;
}

}  // namespace deadrank::sim
