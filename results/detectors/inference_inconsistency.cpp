// results/detectors/inference_inconsistency.cpp — Ranks that serve together answer one request differently,
// or not as a single device would.
#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "results/analysis/findings.h"
#include "results/detectors/detector.h"

namespace deadrank::results::detectors {

using namespace analysis;

namespace {

Finding inference_finding(const Evidence& evidence, std::vector<Rank> ranks, Time at, std::string says) {
    return {.symptom = "inference_output_inconsistency_across_devices",
            .blame = blame_ranks(evidence.facts<Lives>(), std::move(ranks)),
            .at = at,
            .says = std::move(says),
            .causes = {"shard_layout_or_offset_error", "stream_or_buffer_race",
                       "framework_model_incompatibility"}};
}

// The ranks in the minority on one request; all of them in a tie.
std::vector<Rank> odd_answers_in(const std::vector<const Event*>& answers) {
    std::map<std::uint64_t, std::vector<Rank>> by_digest;
    for (const Event* event : answers) by_digest[event->as<ServeOutput>()->digest].push_back(event->rank);
    std::size_t most = 0;
    for (const auto& [digest, ranks] : by_digest) most = std::max(most, ranks.size());
    std::vector<Rank> odd;
    for (const auto& [digest, ranks] : by_digest) {
        if (ranks.size() == most && most * 2 > answers.size()) continue;
        odd.insert(odd.end(), ranks.begin(), ranks.end());
    }
    return odd;
}

}  // namespace

Findings inference_inconsistency(const Evidence& evidence) {
    std::map<std::int64_t, std::vector<const Event*>> answers;
    for (const Event* event : evidence.each<ServeOutput>()) {
        const auto* output = event->as<ServeOutput>();
        if (output->finite == 0) {
            return {inference_finding(evidence, {event->rank}, event->at,
                                      fmt::format("request {} got logits that are no numbers on rank {}",
                                                  output->request, event->rank))};
        }
        auto& all = answers[output->request];
        all.push_back(event);
        if (all.front()->as<ServeOutput>()->digest == output->digest) continue;
        std::vector<const Event*> whole;
        for (const Event* other : evidence.each<ServeOutput>()) {
            if (other->as<ServeOutput>()->request == output->request) whole.push_back(other);
        }
        const auto odd = odd_answers_in(whole);
        Finding found =
            inference_finding(evidence, odd, event->at,
                              fmt::format("request {} was answered in two ways: {} {}", output->request,
                                          ranks_text(sorted(odd)), odd.size() == 1 ? "differs" : "differ"));
        return {found};
    }
    auto wrong = find_first_wrong_value(evidence, Origin::reference);
    if (!wrong || !wrong->blame.variable.starts_with("reference.token")) return {};
    Finding found = inference_finding(evidence, wrong->blame.ranks, wrong->at, wrong->says);
    found.blame.step = wrong->blame.step;
    return {found};
}

extern const DetectorRow inference_inconsistency_row{
    .name = "inference_inconsistency",
    .reports = {"inference_output_inconsistency_across_devices"},
    .examine = inference_inconsistency};

}  // namespace deadrank::results::detectors
