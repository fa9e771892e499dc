// results/judging/verdict_names.cpp — Names of verdicts and outcomes, as reports and scripts read them.
#include <algorithm>
#include <array>

#include "results/judging/judge.h"

namespace deadrank::results {

std::string_view name_of(Verdict verdict) {
    static constexpr std::array<std::string_view, 3> names = {"pass", "unknown", "fail"};
    return names.at(static_cast<std::size_t>(verdict));
}

std::string_view name_of(Outcome outcome) {
    static constexpr std::array<std::string_view, 18> names = {
        "caught",    "wrong_rank",  "wrong_class", "late",          "silent",       "crashed",
        "noisy",     "false_alarm", "dead_metric", "sticky",        "pending_only", "not_applied",
        "as_unseen", "quiet",       "unfinished",  "heals_nothing", "as_control",   "unjudged"};
    return names.at(static_cast<std::size_t>(outcome));
}

Verdict worse(Verdict a, Verdict b) { return std::max(a, b); }

}  // namespace deadrank::results
