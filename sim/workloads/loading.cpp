// sim/workloads/loading.cpp — A job that begins with what another one left behind: shards of the flat
// parameters in files whose names count from somewhere, padded for a number of ranks that is not ours. Names,
// number and padding are a contract between writer and reader.
#include <algorithm>
#include <compare>
#include <cstdlib>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "sim/framework_parts/release_breaks.h"
#include "sim/workloads/job.h"

namespace deadrank::sim {

namespace {

constexpr std::string_view saved_stem = "saved/model_";

std::string saved_name(std::int64_t number) { return fmt::format("{}{:02}.pt", saved_stem, number); }

// The number that the names begin with, as the directory has them.
std::int64_t first_listed(World& world) {
    std::optional<std::int64_t> first;
    for (const std::string& path : world.storage().list(saved_stem)) {
        const std::int64_t number = std::strtoll(path.c_str() + saved_stem.size(), nullptr, 10);
        first = std::min(first.value_or(number), number);
    }
    return first.value_or(0);
}

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

void Job::load_saved(std::vector<Number>& parameters, std::string_view degree, Rank replicas) {
    const std::int64_t ranks = settings_.saved_ranks, made = settings_.saved_steps;
    if (ranks <= 0 || (world_.attempt() > 0 && made == 0)) return;
    const std::int64_t pad = std::max<std::int64_t>(1, settings_.saved_pad);
    const std::int64_t total = shape().parameters();
    // What was learned there: other numbers than a fresh model has.
    std::vector<Number> flat = initial_parameters(shape(), settings_.seed + 1);
    flat.resize(static_cast<std::size_t>(rounded_up(total, std::lcm(ranks, pad))), 0);
    if (world_.process() == 0 && world_.attempt() == 0)
        leave_behind(*this, flat, world_.seam("saved.first_number", 0), ranks);
    comm().barrier();

    const std::int64_t first =
        settings_.saved_listed ? first_listed(world_) : world_.seam("loader.first_number", 0);
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
    if (made == 0) return;
    go_on_at(made, world_.seam("loader.samples", made * settings_.batch * (replicas > 0 ? replicas : ranks)));
    optimizer_steps_ = made;
}

// ── A state under keys. Each part of a file has the name that its writer knows the layer by, and a reader
// looks for the names that it would give: wrappers put a prefix before them, a stage may count its own
// layers from 0, and the optimizer's state is a part that nobody has to write.

namespace {

constexpr Number of_optimizer = -1;  // in place of a prefix

struct Key {
    Number prefixes = 0;
    Number layer = 0;

    auto operator<=>(const Key&) const = default;
};

std::string name_of(const Key& key) {
    std::string name;
    for (Number i = 0; i < std::min<Number>(key.prefixes, 4); ++i) name += "module.";
    return fmt::format("\"{}layers.{}.weight\"", name, key.layer);
}

std::string names_of(const std::vector<Key>& keys) {
    std::vector<std::string> names;
    for (const Key& key : keys) names.push_back(name_of(key));
    return fmt::format("{}", fmt::join(names, ", "));
}

void add_part(std::vector<Number>& content, const Key& key, std::span<const Number> numbers) {
    for (const Number number : {key.prefixes, key.layer, static_cast<Number>(numbers.size())})
        content.push_back(number);
    content.insert(content.end(), numbers.begin(), numbers.end());
}

// A file that was cut short holds the parts that are whole.
std::map<Key, std::span<const Number>> parts_of(std::span<const Number> content) {
    std::map<Key, std::span<const Number>> parts;
    while (content.size() >= 3) {
        const Key key{content[0], content[1]};
        const auto count = static_cast<std::size_t>(std::max<Number>(0, content[2]));
        if (content.size() - 3 < count) break;
        parts[key] = content.subspan(3, count);
        content = content.subspan(3 + count);
    }
    return parts;
}

// A layer's place among so many numbers; the last one has what is left over.
std::span<Number> layer_of(std::span<Number> numbers, std::int64_t layer, std::int64_t layers) {
    const std::size_t each = numbers.size() / static_cast<std::size_t>(layers);
    const std::size_t from = each * static_cast<std::size_t>(layer);
    return numbers.subspan(from, layer + 1 == layers ? numbers.size() - from : each);
}

}  // namespace

std::vector<Number> Job::with_keys(std::span<const Number> numbers) {
    const std::int64_t layers = std::clamp<std::int64_t>(std::ssize(numbers), 1, settings_.layers);
    const Number prefixes = world_.seam("checkpoint.prefix", 0);
    const Number first = world_.seam("checkpoint.first_key", 0);
    const std::int64_t written = std::min(layers, world_.seam("checkpoint.keys", layers));
    std::vector<Number> copy(numbers.begin(), numbers.end()), content;
    for (std::int64_t layer = 0; layer < written; ++layer)
        add_part(content, {prefixes, first + layer}, layer_of(copy, layer, layers));
    const Number taken[] = {optimizer_steps_};
    if (settings_.optimizer_steps && world_.block("checkpoint.optimizer"))
        add_part(content, {of_optimizer, 0}, taken);
    return content;
}

// As torch's load_state_dict does it, strict or not.
void Job::take_keys(std::span<const Number> content) {
    auto parts = parts_of(content);
    const bool strict = settings_.checkpoint_keys == StateKeys::strict;
    if (settings_.optimizer_steps) {
        const auto own = parts.find({of_optimizer, 0});
        const bool there = own != parts.end() && !own->second.empty();
        if (!there && strict) throw RankFailure("KeyError: 'optimizer_state_dict'");
        if (!there) world_.log("the checkpoint has no optimizer state, which begins anew");
        optimizer_steps_ = there ? own->second.front() : 0;
        if (own != parts.end()) parts.erase(own);
    }
    std::vector<Number>& numbers = *state_.numbers;
    const std::int64_t layers = std::clamp<std::int64_t>(std::ssize(numbers), 1, settings_.layers);
    const Number prefixes = world_.seam("checkpoint.load_prefix", 0);
    const Number first = world_.seam("checkpoint.load_first_key", 0);
    std::vector<Key> missing, unexpected;
    for (std::int64_t layer = 0; layer < layers; ++layer) {
        const Key key{prefixes, first + layer};
        const std::span<Number> place = layer_of(numbers, layer, layers);
        const auto part = parts.find(key);
        const bool fits = part != parts.end() && part->second.size() == place.size();
        if (fits) std::copy(part->second.begin(), part->second.end(), place.begin());
        if (!fits) missing.push_back(key);
        if (part != parts.end()) parts.erase(part);
    }
    for (const auto& [key, part] : parts) unexpected.push_back(key);
    if (missing.empty() && unexpected.empty()) return;
    const std::string words =
        fmt::format("Missing key(s) in state_dict: {}. Unexpected key(s) in state_dict: {}.",
                    names_of(missing), names_of(unexpected));
    if (strict) throw RankFailure("RuntimeError: Error(s) in loading state_dict for Model: " + words);
    world_.log("loaded with strict=False; " + words);
}

// Rank 0 may read for all. Its peers wait for what it sends, and know nothing of an error that it meets.
Code Job::read_state(std::int64_t step, int shard, std::vector<Number>& content) {
    if (settings_.load != LoadPolicy::root) return world_.storage().read(shard_path(step, shard), content);
    for (int each = 0; each < state_.shards; ++each) {
        std::vector<Number> file;
        if (rank_ == 0) {
            const Code read = world_.storage().read(shard_path(step, each), file);
            if (read != Code::ok) return read;
        }
        Number length[] = {std::ssize(file)};
        comm().broadcast(length, 0, Dtype::i64);
        file.resize(static_cast<std::size_t>(std::max<Number>(0, length[0])));
        comm().broadcast(file, 0, Dtype::i64);
        if (each == shard) content = std::move(file);
    }
    return Code::ok;
}

}  // namespace deadrank::sim
