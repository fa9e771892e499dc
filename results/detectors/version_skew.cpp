// results/detectors/version_skew.cpp — Ranks run different versions of one package, and something broke: the
// versions are the reason behind the symptom. A harmless difference is a note for the operator, not an alarm.
#include <array>
#include <fmt/format.h>

#include "results/analysis/findings.h"
#include "results/analysis/pairs.h"
#include "results/detectors/detector.h"
#include "results/detectors/shared.h"

namespace deadrank::results::detectors {

using namespace analysis;

namespace {

// If several packages differ, those used in communication are suspected first.
constexpr std::array<std::string_view, 6> suspects = {"nccl", "gloo", "torch", "cuda", "driver", "python"};

// A version that most ranks did not report is no difference: NCCL prints its own on the first rank only.
std::optional<Difference> skew_of(const PairTables& versions, std::string_view package) {
    auto found = difference_in(versions, package);
    return found && !found->usual_value.empty() ? found : std::nullopt;
}

std::optional<Difference> skew_in(const PairTables& versions) {
    for (const std::string_view package : suspects) {
        if (auto found = skew_of(versions, package)) return found;
    }
    for (const std::string_view package : versions.names()) {
        if (auto found = skew_of(versions, package)) return found;
    }
    return std::nullopt;
}

}  // namespace

Findings version_skew(const Evidence& evidence) {
    const Lives& lives = evidence.facts<Lives>();
    const PairTables versions(evidence, lives.attempts() - 1, PairTables::Of::versions);
    const auto skew = skew_in(versions);
    if (!skew) return {};
    auto broken = communication_breakage(evidence);
    if (!broken) return {};
    broken->blame = blame_ranks(lives, skew->odd);
    broken->blame.component = skew->name;
    broken->says =
        fmt::format("{} {} {} {} where the others have {}; {}", ranks_text(skew->odd),
                    skew->odd.size() == 1 ? "has" : "have", skew->name,
                    skew->odd_has_none ? "not at all" : skew->odd_value, skew->usual_value, broken->says);
    broken->causes = {"version_skew_across_ranks"};
    return {*broken};
}

extern const DetectorRow version_skew_row{
    .name = "version_skew",
    .reports = {"communication_setup_failure", "communication_setup_hang", "collective_mismatch_error",
                "collective_timeout_abort", "collective_deadlock_hang", "framework_runtime_exception"},
    .examine = version_skew,
    .reason = 2};

}  // namespace deadrank::results::detectors
