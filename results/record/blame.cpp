// results/record/blame.cpp — Blame in words: what a person would say.
#include "results/record/blame.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace deadrank::results {

std::string Blame::text() const {
    std::string words;
    const auto add = [&words](std::string part) {
        if (!words.empty()) words += ", ";
        words += part;
    };
    if (!ranks.empty())
        add(fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", fmt::join(ranks, ", ")));
    if (!nodes.empty())
        add(fmt::format("{} {}", nodes.size() == 1 ? "node" : "nodes", fmt::join(nodes, ", ")));
    if (step) add(fmt::format("step {}", *step));
    if (!variable.empty()) add(variable);
    if (!component.empty()) add(component);
    if (!collective.empty()) add(collective);
    if (!shard.empty()) add(shard);
    return words;
}

}  // namespace deadrank::results
