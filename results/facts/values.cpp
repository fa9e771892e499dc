// results/facts/values.cpp — Equal to six figures is equal: real jobs print rounded numbers.
#include "results/facts/values.h"

#include <cmath>
#include <map>

#include "results/facts/lives.h"

namespace deadrank::results::detectors {

namespace {

bool same(double a, double b) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) == std::isnan(b);
    if (std::isinf(a) || std::isinf(b)) return a == b;
    return std::abs(a - b) <= 1e-6 * std::max({std::abs(a), std::abs(b), 1e-6});
}

}  // namespace

std::vector<WrongValue> wrong_values(const Evidence& evidence) {
    const Lives& lives = evidence.facts<Lives>();
    std::map<Rank, Time> restored;
    for (const Event* event : evidence.each<CheckpointLoad>()) restored.try_emplace(event->rank, event->at);
    std::vector<WrongValue> wrong;
    for (const Event* event : evidence.each<ValueSample>()) {
        const auto* sample = event->as<ValueSample>();
        if (std::isnan(sample->expected) || same(sample->value, sample->expected)) continue;
        const std::string_view name = evidence.text(sample->name);
        if (name.starts_with("weights") || name == "step_time") continue;
        const auto load = restored.find(event->rank);
        const bool resumed =
            (load != restored.end() && load->second <= event->at) || lives.attempt_at(event->at) > 0;
        const Origin origin = resumed                          ? Origin::resumed
                              : name.starts_with("reference.") ? Origin::reference
                                                               : Origin::definition;
        wrong.push_back({event, name, origin});
    }
    return wrong;
}

}  // namespace deadrank::results::detectors
