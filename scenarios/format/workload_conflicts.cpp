// scenarios/format/workload_conflicts.cpp — Refuses settings of a workload that are each right, and of which
// two together make a wrong control: a one-rank run that trains otherwise than the job does by its settings.
#include <fmt/format.h>

#include "scenarios/format/closing.h"

namespace deadrank::scenarios {

namespace {

using Found = std::optional<Contradiction>;

std::string word(const Values& values, const char* name) {
    const auto found = values.find(name);
    return found == values.end() ? std::string() : found->second.text;
}

bool states(const Values& values, const char* name) {
    const auto found = values.find(name);
    return found != values.end() && found->second.number != 0;
}

// The one-rank run divides by all tokens of the step. Whoever divides by fewer of them trains otherwise where
// samples are not equally long, and rounds otherwise where they are.
Found divides_otherwise(const Plan& plan, const std::string& compares) {
    const std::string by = word(plan.workload, "normalise"), of = by.empty() ? "samples" : by;
    const bool uneven = word(plan.workload, "sample_tokens") == "uneven";
    const bool rounds = of == "rank" || of == "micro_batch";
    if (of == "step" || (!uneven && !rounds)) return std::nullopt;
    return Contradiction{
        compares,
        fmt::format("the one-rank run divides by the step's tokens, and normalise = \"{}\" does not: the "
                    "control would differ from it",
                    of),
        "say normalise = \"step\"; a fault on seam loss.normaliser makes another mean the bug"};
}

Found starts_from_other_weights(const Plan& plan, const std::string& compares) {
    if (!states(plan.workload, "pretrained")) return std::nullopt;
    return Contradiction{compares,
                         "the one-rank run begins with a fresh model, and pretrained with fetched weights",
                         "leave out one of them: pretrained logs weights.sum beside what was published"};
}

}  // namespace

std::optional<Contradiction> together_contradiction(const Plan& plan) {
    for (const char* setting : {"reference", "assert_equal"}) {
        if (!states(plan.workload, setting)) continue;
        const std::string compares = std::string("workload.") + setting;
        if (auto found = divides_otherwise(plan, compares)) return found;
        if (auto found = starts_from_other_weights(plan, compares)) return found;
    }
    return std::nullopt;
}

}  // namespace deadrank::scenarios
