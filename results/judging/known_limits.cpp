// results/judging/known_limits.cpp — Each line was seen on that release, on the scenarios in
// results/external/scenarios.
#include "results/judging/known_limits.h"

#include <algorithm>
#include <cstdlib>

namespace deadrank::results {

const std::vector<KnownLimit>& known_limits() {
    static const std::vector<KnownLimit> limits = {
        {"torchfrtrace", "2.11", "", "wrong_operation_on_the_first_rank", Outcome::wrong_rank,
         "it trusts the first dump that it reads, and blames every rank that differs from it"},
        {"torchfrtrace", "2.11", "", "all_hung_in_one_operation", Outcome::silent,
         "it compares dumps with each other; where all are in the same operation there is nothing to "
         "compare"},
        {"torchfrtrace", "2.11", "", "analyzer_meets_two_releases", Outcome::crashed,
         "it asserts that all dumps have the version of the first"},
        {"c10d", "", "", "wrong_operation_on_the_first_rank", Outcome::silent,
         "without DETAIL it compares no calls, and without a watchdog it times none out"},
        {"nccl_ras", "", "", "all_hung_in_one_operation", Outcome::silent,
         "all have launched the operation, and how many were launched is all that it counts"},
        {"nvrx_fr_attribution", "0.7", "", "rank_skips_an_all_reduce", Outcome::silent,
         "it looks at scheduled entries alone; behind started ones a rank that is one call short stays "
         "unseen"},
        {"nvrx_restart_agent", "0.7", "", "first_to_complain_waited", Outcome::wrong_rank,
         "it takes the first rank that complained for the culprit; a stopped one does not complain"},
    };
    return limits;
}

bool older(std::string_view version, std::string_view than) {
    const auto next = [](std::string_view& text) {
        const std::size_t dot = std::min(text.find('.'), text.size());
        const int number = std::atoi(std::string(text.substr(0, dot)).c_str());
        text.remove_prefix(std::min(dot + 1, text.size()));
        return number;
    };
    while (!version.empty() || !than.empty()) {
        const int left = next(version), right = next(than);
        if (left != right) return left < right;
    }
    return false;
}

const KnownLimit* known_limit(std::string_view tool, std::string_view version, std::string_view scenario) {
    scenario.remove_prefix(scenario.rfind('/') + 1);  // npos + 1 is 0
    for (const KnownLimit& limit : known_limits()) {
        if (limit.tool != tool || limit.scenario != scenario) continue;
        if (!limit.since.empty() && older(version, limit.since)) continue;
        if (!limit.before.empty() && !older(version, limit.before)) continue;
        return &limit;
    }
    return nullptr;
}

}  // namespace deadrank::results
