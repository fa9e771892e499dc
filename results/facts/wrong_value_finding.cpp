// results/facts/wrong_value_finding.cpp — What is wrong by definition explains what differs from
// the reference later, or in the same step.
#include "results/facts/wrong_value_finding.h"

#include <algorithm>
#include <fmt/format.h>

#include "results/facts/findings.h"

namespace deadrank::results::detectors {

namespace {

std::int64_t step_of(const WrongValue& wrong) { return wrong.event->as<ValueSample>()->step; }

}  // namespace

std::optional<Finding> first_wrong(const Evidence& evidence, Origin origin) {
    const auto all = wrong_values(evidence);
    const WrongValue* first = nullptr;
    for (const WrongValue& wrong : all) {
        if (wrong.origin == origin && (!first || step_of(wrong) < step_of(*first))) first = &wrong;
    }
    if (!first) return std::nullopt;
    if (origin == Origin::reference) {
        for (const WrongValue& wrong : all) {
            if (wrong.origin == Origin::definition && step_of(wrong) <= step_of(*first)) return std::nullopt;
        }
    }
    std::vector<Rank> ranks;
    for (const WrongValue& wrong : all) {
        if (wrong.origin == origin && step_of(wrong) == step_of(*first) && wrong.name == first->name) {
            ranks.push_back(wrong.event->rank);
        }
    }
    const auto* sample = first->event->as<ValueSample>();
    Finding finding;
    finding.blame = blame_ranks(evidence.facts<Lives>(), ranks);
    finding.blame.step = sample->step;
    finding.blame.variable = first->name;
    finding.at = first->event->at;
    finding.says =
        fmt::format("{} of {} is {} in step {} where {} was expected", first->name,
                    ranks_text(finding.blame.ranks), sample->value, sample->step, sample->expected);
    return finding;
}

}  // namespace deadrank::results::detectors
