// results/detectors/shard_mismatch.cpp — The parts of a tensor that ranks believe they own overlap, leave
// gaps, or have a wrong length. Together they must tile the tensor, once per copy. A part is odd if it is off
// the grid of the usual length, or if its holder breaks the order of ranks.
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>

#include "results/analysis/findings.h"
#include "results/detectors/shared.h"

namespace deadrank::results::detectors {

using namespace analysis;

namespace {

struct Part {
    std::int64_t offset = 0;
    std::int64_t length = 0;
    std::vector<Rank> holders = {};
};

struct Tensor {
    std::int64_t total = 0;
    Time at{0};
    std::vector<Part> parts = {};  // by offset, then length; empty parts left out
};

std::map<std::pair<int, TextId>, Tensor> tensors_of(const Evidence& evidence) {
    const Lives& lives = evidence.facts<Lives>();
    std::map<std::pair<int, TextId>, std::map<std::pair<std::int64_t, std::int64_t>, std::vector<Rank>>>
        sorted_parts;
    std::map<std::pair<int, TextId>, Tensor> tensors;
    for (const Event* event : evidence.each<ShardLayout>()) {
        const auto* layout = event->as<ShardLayout>();
        const std::pair key(lives.attempt_at(event->at), layout->tensor);
        Tensor& tensor = tensors[key];
        tensor.total = std::max(tensor.total, layout->total);
        tensor.at = std::max(tensor.at, event->at);
        if (layout->length != 0) sorted_parts[key][{layout->offset, layout->length}].push_back(event->rank);
    }
    for (auto& [key, parts] : sorted_parts) {
        for (auto& [where, holders] : parts)
            tensors[key].parts.push_back({where.first, where.second, holders});
    }
    return tensors;
}

// Every element is held equally often.
bool tiles(const Tensor& tensor) {
    std::map<std::int64_t, std::int64_t> change;
    for (const Part& part : tensor.parts) {
        if (part.length < 0 || part.offset < 0 || part.offset + part.length > tensor.total) return false;
        change[part.offset] += static_cast<std::int64_t>(part.holders.size());
        change[part.offset + part.length] -= static_cast<std::int64_t>(part.holders.size());
    }
    std::int64_t depth = 0;
    std::optional<std::int64_t> copies;
    std::int64_t at = 0;
    for (const auto& [where, by] : change) {
        if (where > at) {
            if (copies && *copies != depth) return false;
            copies = depth;
            at = where;
        }
        depth += by;
    }
    return at == tensor.total && copies.value_or(0) > 0;
}

// The value that most holders have.
template <class Of>
std::int64_t usual(const std::vector<Part>& parts, const Of& of) {
    std::map<std::int64_t, std::size_t> votes;
    for (const Part& part : parts) votes[of(part)] += part.holders.size();
    return std::max_element(votes.begin(), votes.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; })
        ->first;
}

// A rank holds one part where another was due: the rank out of order.
std::vector<Rank> out_of_order(const Tensor& tensor, std::size_t copies, std::int64_t length) {
    std::vector<std::pair<Rank, std::int64_t>> places;
    for (const Part& part : tensor.parts) {
        for (const Rank rank : part.holders) places.emplace_back(rank, part.offset / length);
    }
    std::sort(places.begin(), places.end());
    const auto slots = static_cast<std::int64_t>((tensor.total + length - 1) / length);
    std::vector<Rank> in_turn, in_blocks;  // ranks 0 1 2 3 0 1 2 3, or 0 0 1 1 2 2 3 3
    for (std::size_t i = 0; i < places.size(); ++i) {
        const auto n = static_cast<std::int64_t>(i);
        if (places[i].second != n % slots) in_turn.push_back(places[i].first);
        if (places[i].second != n / static_cast<std::int64_t>(copies)) in_blocks.push_back(places[i].first);
    }
    return in_turn.size() <= in_blocks.size() ? in_turn : in_blocks;
}

std::vector<Rank> odd_shards_in(const Tensor& tensor) {
    const std::int64_t length = usual(tensor.parts, [](const Part& part) { return part.length; });
    const std::int64_t grid = length <= 0 ? 1 : length;
    std::vector<Rank> odd;
    std::size_t holders = 0;
    for (const Part& part : tensor.parts) {
        holders += part.holders.size();
        const bool last = part.offset + part.length == tensor.total;
        if (part.offset % grid == 0 && (part.length == length || (last && part.length < length))) continue;
        odd.insert(odd.end(), part.holders.begin(), part.holders.end());
    }
    if (!odd.empty() && odd.size() < holders) return odd;
    const auto slots = static_cast<std::size_t>((tensor.total + grid - 1) / grid);
    const std::size_t copies =
        std::max<std::size_t>(1, (holders + slots / 2) / std::max<std::size_t>(slots, 1));
    return out_of_order(tensor, copies, grid);
}

}  // namespace

Findings shard_mismatch(const Evidence& evidence) {
    for (const auto& [key, tensor] : tensors_of(evidence)) {
        if (tensor.parts.empty() || tiles(tensor)) continue;
        const auto odd = sorted(odd_shards_in(tensor));
        std::string where = "the parts do not add up";
        for (const Part& part : tensor.parts) {
            if (odd.empty() || part.holders.front() != odd.front()) continue;
            where = fmt::format("rank {} holds [{}, {}) of {}", odd.front(), part.offset,
                                part.offset + part.length, tensor.total);
        }
        // Where a model is served, the symptom is a wrong answer.
        const bool serves = !evidence.each<ServeOutput>().empty();
        Finding finding{
            .symptom = serves ? "inference_output_inconsistency_across_devices" : "parallel_result_mismatch",
            .blame = blame_ranks(evidence.facts<Lives>(), odd),
            .at = tensor.at,
            .says =
                fmt::format("the parts of {} overlap or leave gaps: {}", evidence.text(key.second), where),
            .causes = {"shard_layout_or_offset_error", "rank_or_device_derivation_error"}};
        finding.blame.shard = evidence.text(key.second);
        return {finding};
    }
    return {};
}

extern const DetectorRow shard_mismatch_row{
    .name = "shard_mismatch",
    .reports = {"parallel_result_mismatch", "inference_output_inconsistency_across_devices"},
    .examine = shard_mismatch,
    .from_the_start = true};

}  // namespace deadrank::results::detectors
