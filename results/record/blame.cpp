// results/record/blame.cpp — Blame as text, and as JSON in all our files.
#include "results/record/blame.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace deadrank::results {

// Blame in words: what a person would say.
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

// ── One name a field, the same in truth, findings and verdicts.

using OrderedJson = nlohmann::ordered_json;

OrderedJson blame_json(const Blame& blame) {
    OrderedJson json = OrderedJson::object();
    if (!blame.ranks.empty()) json["ranks"] = blame.ranks;
    if (!blame.nodes.empty()) json["nodes"] = blame.nodes;
    if (blame.step) json["step"] = *blame.step;
    if (!blame.variable.empty()) json["variable"] = blame.variable;
    if (!blame.component.empty()) json["component"] = blame.component;
    if (!blame.collective.empty()) json["collective"] = blame.collective;
    if (!blame.shard.empty()) json["shard"] = blame.shard;
    return json;
}

Blame blame_from(const OrderedJson& json) {
    Blame blame;
    blame.ranks = json.value("ranks", blame.ranks);
    blame.nodes = json.value("nodes", blame.nodes);
    if (json.contains("step")) blame.step = json.at("step").get<std::int64_t>();
    blame.variable = json.value("variable", "");
    blame.component = json.value("component", "");
    blame.collective = json.value("collective", "");
    blame.shard = json.value("shard", "");
    return blame;
}

}  // namespace deadrank::results
