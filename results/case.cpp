// results/case.cpp — Three judgements become one: a caught fault does not excuse an alarm in the control.
#include "results/case.h"

#include <fmt/format.h>

namespace deadrank::results {

void Case::conclude() {
    verdict = fault ? fault->verdict : Verdict::unknown;
    reason = fault ? fault->reason : "the run with the fault was not played";
    const auto add = [&](const std::optional<Judgement>& other, std::string_view name) {
        if (!other || other->verdict == Verdict::pass) return;
        const std::string words = fmt::format("{}: {}", name, other->reason);
        reason = verdict == Verdict::pass ? words : fmt::format("{}; {}", reason, words);
        verdict = worse(verdict, other->verdict);
    };
    add(control, "control");
    add(healed, "healed");
}

Case unknown_case(const scenarios::Scenario& scenario, std::uint64_t seed, std::string runner,
                  std::string reason) {
    Case unknown;
    unknown.scenario = scenario.id;
    unknown.runner = std::move(runner);
    unknown.seed = seed;
    unknown.bug = scenario.bug;
    unknown.expect = scenario.expect;
    unknown.reason = std::move(reason);
    return unknown;
}

}  // namespace deadrank::results
