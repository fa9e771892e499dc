// results/detectors/collective_timeout.cpp — A watchdog ended a wait. Blame the ranks that were waited for,
// not those that complained: the calls still open show which were missing.
#include <fmt/format.h>

#include "results/analysis/call_order.h"
#include "results/analysis/calls.h"
#include "results/analysis/complaints.h"
#include "results/analysis/error_quote.h"
#include "results/analysis/step_reached.h"
#include "results/analysis/waits.h"
#include "results/detectors/shared.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::results::detectors {

using scenarios::Cause;
using scenarios::Symptom;

using namespace analysis;

namespace {

// "[Rank 0]: Ranks 2, 5 failed to pass monitoredBarrier in 3000 ms" names the missing ranks itself.
std::vector<Rank> named_by_barrier(const Evidence& evidence, int attempt) {
    const Calls& calls = evidence.facts<Calls>();
    for (const Complaint& complaint : evidence.facts<Complaints>().all()) {
        const auto end = complaint.text.find(" failed to pass monitoredBarrier");
        if (complaint.attempt != attempt || end == std::string_view::npos) continue;
        const auto begin = complaint.text.rfind("Rank", end);
        if (begin == std::string_view::npos) continue;
        std::vector<Rank> missing;
        for (const Rank rank : parse_members(complaint.text.substr(begin, end - begin))) {
            missing.push_back(calls.process_of(attempt, rank));
        }
        return sorted(std::move(missing));
    }
    return {};
}

}  // namespace

Findings collective_timeout(const Evidence& evidence) {
    const Lives& lives = evidence.facts<Lives>();
    std::vector<Finding> findings;
    for (const Outbreak& outbreak : find_outbreaks(evidence, Trouble::timeout)) {
        // The complaint and the exit of the rank that complained may have the same time: look just before.
        const Standstill found = Waits(evidence, outbreak.attempt, outbreak.at - Time{1}).standstill();
        std::vector<Rank> culprits = named_by_barrier(evidence, outbreak.attempt);
        if (culprits.empty()) culprits = found.culprits;
        Finding finding{
            .symptom = id_of(Symptom::collective_timeout_abort),
            .blame = blame_ranks(lives, culprits),
            .at = outbreak.at,
            .says = fmt::format("{}; {} gave up: {}", found.any ? found.why : "an operation took too long",
                                ranks_text(outbreak.ranks), quoted(outbreak.text)),
            .causes =
                found.any ? found.causes() : std::vector<std::string>{id_of(Cause::hardware_or_link_fault)}};
        if (found.any) finding.blame.collective = name_of(found.last.op);
        finding.blame.step =
            culprits.empty() ? outbreak.step : step_reached(evidence, culprits.front(), outbreak.at);
        if (found.any && found.call_skipped && found.last.collective && !culprits.empty()) {
            if (const auto step =
                    find_step_of_missing_call(evidence, *found.last.comm, culprits, outbreak.at))
                finding.blame.step = step;
        }
        findings.push_back(std::move(finding));
    }
    return findings;
}

extern const DetectorRow collective_timeout_row{.name = "collective_timeout",
                                                .reports = {id_of(Symptom::collective_timeout_abort)},
                                                .examine = collective_timeout};

}  // namespace deadrank::results::detectors
