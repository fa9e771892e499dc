// runners/find/pass_settings.cpp — Sizes, times and switches become the usual ones, or come as near to them
// as the failure lets them; ranks become low ones.
#include <algorithm>

#include "runners/find/defaults.h"
#include "runners/find/knob.h"
#include "runners/find/passes.h"

namespace deadrank::runners::find {

using scenarios::Parameter;
using scenarios::Plan;
using scenarios::Value;
using scenarios::Values;
using scenarios::ValueType;
using Place = std::function<Values&(Plan&)>;

namespace {

// Shape and length have passes of their own.
bool has_its_pass(const std::string& name) {
    return name == "nodes" || name == "gpus_per_node" || name == "ranks" || name == "steps";
}

bool drop(Reduction& reduction, const Place& place, const std::string& name) {
    Plan candidate = reduction.plan();
    place(candidate).erase(name);
    return reduction.take(std::move(candidate));
}

bool fewer_entries(Reduction& reduction, const Place& place, const std::string& name, const Value& value) {
    bool any = false;
    for (const auto& [key, text] : value.table) {
        Plan candidate = reduction.plan();
        place(candidate).at(name).table.erase(key);
        any = reduction.take(std::move(candidate)) || any;
    }
    return any;
}

bool usual(Reduction& reduction, const Place& place, const Parameter& parameter, const Value& value) {
    const auto goal = default_of(parameter);
    if (!goal) {
        if (parameter.optional && drop(reduction, place, parameter.name)) return true;
        if (value.type == ValueType::table) return fewer_entries(reduction, place, parameter.name, value);
        return false;
    }
    if (*goal == value) return false;
    if (is_number(value.type)) {
        return reduction.approach(value.number, goal->number, [&](Plan& plan, std::int64_t number) {
            place(plan).at(parameter.name).number = number;
        });
    }
    Plan candidate = reduction.plan();
    place(candidate).at(parameter.name) = *goal;
    return reduction.take(std::move(candidate));
}

bool usual_values(Reduction& reduction, const Place& place, const std::vector<Parameter>& parameters) {
    bool any = false;
    Plan now = reduction.plan();
    const Values values = place(now);
    for (const auto& [name, value] : values) {
        const Parameter* parameter = parameter_named(parameters, name);
        if (!parameter || has_its_pass(name)) continue;
        any = usual(reduction, place, *parameter, value) || any;
    }
    return any;
}

// One rank or node after the other goes to the lowest number that will do.
bool lower_places(Reduction& reduction, std::size_t fault) {
    bool any = false;
    const Values values = reduction.plan().faults[fault].parameters;
    for (const auto& [name, value] : values) {
        if (value.type != ValueType::ranks && value.type != ValueType::nodes) continue;
        const auto count = static_cast<std::int64_t>(value.list.size());
        for (std::int64_t first = 0; !value.list.empty() && first < value.list.front() && first < 4;
             ++first) {
            Plan candidate = reduction.plan();
            auto& list = candidate.faults[fault].parameters.at(name).list;
            for (std::int64_t i = 0; i < count; ++i) list[static_cast<std::size_t>(i)] = first + i;
            if (candidate.expect.ranks == value.list) candidate.expect.ranks = list;
            if (!reduction.take(std::move(candidate))) continue;
            any = true;
            break;
        }
    }
    return any;
}

}  // namespace

bool usual_settings(Reduction& reduction) {
    const scenarios::Vocabulary& words = reduction.words();
    bool any = usual_values(
        reduction, [](Plan& plan) -> Values& { return plan.cluster; }, scenarios::cluster_parameters());
    if (const auto* kind = words.workload(reduction.plan().workload_kind)) {
        any = usual_values(
                  reduction, [](Plan& plan) -> Values& { return plan.workload; }, kind->parameters) ||
              any;
    }
    for (std::size_t fault = 0; fault < reduction.plan().faults.size(); ++fault) {
        const auto* kind = words.fault(reduction.plan().faults[fault].kind);
        if (!kind) continue;
        const Place place = [fault](Plan& plan) -> Values& { return plan.faults[fault].parameters; };
        any = usual_values(reduction, place, kind->parameters) || any;
        any = lower_places(reduction, fault) || any;
    }
    return any;
}

bool usual_seed(Reduction& reduction) {
    Plan candidate = reduction.plan();
    candidate.seed.number = 1;
    return reduction.take(std::move(candidate));
}

}  // namespace deadrank::runners::find
