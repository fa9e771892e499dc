// sim/workloads/loading.cpp — A job that begins with what another one left behind: shards of the flat
// parameters in files whose names count from somewhere, padded for a number of ranks that is not ours. Names,
// number and padding are a contract between writer and reader.
#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <vector>

#include "sim/parts/release_breaks.h"
#include "sim/workloads/job.h"

namespace deadrank::sim {

namespace {

std::string saved_name(std::int64_t number) { return fmt::format("saved/model_{:02}.pt", number); }

std::int64_t rounded_up(std::int64_t value, std::int64_t to) { return (value + to - 1) / to * to; }

// As the earlier job wrote them, before this one began.
void leave_behind(Job& job, const std::vector<Number>& flat, std::int64_t first, std::int64_t ranks) {
    const auto each = static_cast<std::ptrdiff_t>(std::ssize(flat) / ranks);
    for (std::int64_t shard = 0; shard < ranks; ++shard) {
        std::vector<Number> content{ranks, std::ssize(flat)};
        content.insert(content.end(), flat.begin() + shard * each, flat.begin() + (shard + 1) * each);
        const std::string path = saved_name(first + shard);
        job.world().storage().write(path, content);
        job.world().storage().sync(path);
    }
}

// A file of it, with what can be seen of the reading.
std::vector<Number> read_saved(Job& job, std::int64_t number, std::int64_t shards) {
    World& world = job.world();
    const std::string path = saved_name(number);
    std::vector<Number> content;
    const Code result = world.storage().read(path, content);
    if (result != Code::ok || content.size() < 2)
        throw RankFailure(fmt::format("FileNotFoundError: [Errno 2] No such file or directory: '{}'", path));
    world.record(results::CheckpointLoad{-1, static_cast<std::int64_t>(content.size() * sizeof(Number)),
                                         digest_of(content), static_cast<std::int32_t>(number),
                                         static_cast<std::int32_t>(shards), world.text(path), result});
    return content;
}

}  // namespace

void Job::load_saved(std::vector<Number>& parameters, std::string_view degree) {
    const std::int64_t ranks = settings_.saved_ranks;
    if (ranks <= 0 || world_.attempt() > 0) return;
    const std::int64_t pad = std::max<std::int64_t>(1, settings_.saved_pad);
    const std::int64_t total = shape().parameters();
    // What was learned there: other numbers than a fresh model has.
    std::vector<Number> flat = initial_parameters(shape(), settings_.seed + 1);
    flat.resize(static_cast<std::size_t>(rounded_up(total, std::lcm(ranks, pad))), 0);
    if (world_.process() == 0) leave_behind(*this, flat, world_.seam("saved.first_number", 0), ranks);
    comm().barrier();

    const std::int64_t first = world_.seam("loader.first_number", 0);
    const std::int64_t shards = world_.seam("loader.shards", ranks);
    call_across_releases(world_, Calling::load);
    std::vector<Number> found;
    for (std::int64_t shard = 0; shard < shards; ++shard) {
        const std::vector<Number> content = read_saved(*this, first + shard, shards);
        if (world_.block("loader.check_layout") && content[0] != shards) {
            throw RankFailure(
                degree.empty()
                    ? fmt::format("AssertionError: the checkpoint used a DP world size of {} but the "
                                  "loader expects {}",
                                  content[0], shards)
                    : fmt::format("AssertionError: {} value from checkpoint ({}) is not equal to the input "
                                  "argument value ({}).",
                                  degree, content[0], shards));
        }
        found.insert(found.end(), content.begin() + 2, content.end());
    }
    const std::int64_t offset = world_.seam("loader.offset", 0);
    const std::int64_t expected = rounded_up(total, std::lcm(ranks, world_.seam("loader.pad", pad)));
    if (std::ssize(found) != expected || offset < 0 || offset + total > std::ssize(found)) {
        throw RankFailure(
            fmt::format("RuntimeError: Error(s) in loading state_dict for Model: size mismatch for "
                        "flat_parameters: copying a param with shape torch.Size([{}]) from "
                        "checkpoint, the shape in current model is torch.Size([{}]).",
                        found.size(), expected));
    }
    if (world_.block("loader.assign")) std::copy_n(found.begin() + offset, total, parameters.begin());
    flat.resize(static_cast<std::size_t>(total));
    value(0, "weights.sum", checksum(parameters), checksum(flat));
}

}  // namespace deadrank::sim
