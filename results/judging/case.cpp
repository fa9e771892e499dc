// results/judging/case.cpp — Three judgements become one: a caught fault does not excuse an alarm in the
// control. And the names of verdicts and outcomes, as reports and scripts read them.
#include "results/judging/case.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace deadrank::results {

namespace {

// A scenario below a directory named "catalog" is found by its id; any other file by its path alone.
bool in_a_catalog(const std::filesystem::path& file) {
    return std::find(file.begin(), file.end(), "catalog") != file.end();
}

}  // namespace

void Case::conclude() {
    verdict = fault ? fault->verdict : Verdict::unknown;
    reason = fault ? fault->reason : "the run with the fault was not played";
    const auto add = [&](const std::optional<Judgement>& other, std::string_view name) {
        if (!other || other->verdict == Verdict::pass) return;
        // A program that cannot be played at all says so in each run.
        const bool same = fault && fault->verdict != Verdict::pass && other->reason == fault->reason;
        const std::string words = fmt::format("{}: {}", name, same ? "the same" : other->reason);
        reason = verdict == Verdict::pass ? words : fmt::format("{}; {}", reason, words);
        verdict = worse(verdict, other->verdict);
    };
    add(control, "control");
    add(healed, "healed");
}

bool Case::differs_as_documented() const {
    const auto passed = [](const std::optional<Judgement>& run) {
        return !run || run->verdict == Verdict::pass;
    };
    // A fault that the fix leaves in place shows itself on this backend as it does without the fix.
    const bool healed_alike =
        healed && healed->verdict == Verdict::fail && healed->outcome == Outcome::wrong_class;
    return !documented.empty() && fault && fault->verdict == Verdict::fail && passed(control) &&
           (passed(healed) || healed_alike);
}

Case unknown_case(const scenarios::Scenario& scenario, std::uint64_t seed, std::string runner,
                  std::string reason) {
    Case unknown;
    unknown.scenario = scenario.id;
    if (!in_a_catalog(scenario.file)) unknown.file = scenario.file;
    unknown.runner = std::move(runner);
    unknown.seed = seed;
    unknown.bug = scenario.bug;
    unknown.expect = scenario.expect;
    if (const auto known = scenario.parity.find(unknown.runner); known != scenario.parity.end())
        unknown.documented = known->second;
    unknown.reason = std::move(reason);
    return unknown;
}

std::string_view name_of(Verdict verdict) { return scenarios::enum_name(verdict); }

std::string_view name_of(Outcome outcome) {
    static constexpr std::array<std::string_view, 18> names = {
        "caught",    "wrong_rank",  "wrong_class", "late",          "silent",       "crashed",
        "noisy",     "false_alarm", "dead_metric", "sticky",        "pending_only", "not_applied",
        "as_unseen", "quiet",       "unfinished",  "heals_nothing", "as_control",   "unjudged"};
    return names.at(static_cast<std::size_t>(outcome));
}

Verdict worse(Verdict a, Verdict b) { return std::max(a, b); }

}  // namespace deadrank::results
