// scenarios/resolve.cpp — Closes every open setting by the seed, checks that the result can be meant, and
// makes the three plans.
#include <algorithm>
#include <charconv>
#include <fmt/format.h>

#include "scenarios/check.h"
#include "scenarios/draw.h"
#include "scenarios/plan.h"

namespace deadrank::scenarios {

namespace {

struct Shape {
    std::int64_t ranks = 0;
    std::int64_t nodes = 0;
    std::int64_t gpus_per_node = 1;

    std::vector<std::int64_t> ranks_of(std::int64_t node) const {
        std::vector<std::int64_t> found;
        for (std::int64_t rank = node * gpus_per_node; rank < std::min((node + 1) * gpus_per_node, ranks);
             ++rank)
            found.push_back(rank);
        return found;
    }
};

std::vector<std::int64_t> all_below(std::int64_t bound) {
    std::vector<std::int64_t> all;
    for (std::int64_t i = 0; i < bound; ++i) all.push_back(i);
    return all;
}

std::vector<std::int64_t> without(std::vector<std::int64_t> from, const std::vector<std::int64_t>& away) {
    from.erase(std::remove_if(from.begin(), from.end(),
                              [&](std::int64_t item) {
                                  return std::find(away.begin(), away.end(), item) != away.end();
                              }),
               from.end());
    return from;
}

class Resolver {
public:
    Resolver(const Scenario& scenario, Seed seed) : scenario_(scenario), draw_(seed.number, scenario.id) {}

    Result<Values> close_all(const Settings& settings, const std::vector<Parameter>& parameters,
                             const std::string& path) {
        Values values;
        for (const Parameter& parameter : parameters) {
            const auto found = settings.find(parameter.name);
            if (found != settings.end()) {
                auto value = close(found->second, parameter, path + "." + parameter.name);
                if (!value) return tl::unexpected(value.error());
                values.emplace(parameter.name, std::move(*value));
            } else if (!parameter.optional || !parameter.fallback.empty()) {
                auto value = close_default(parameter, path + "." + parameter.name);
                if (!value) return tl::unexpected(value.error());
                values.emplace(parameter.name, std::move(*value));
            }
        }
        return values;
    }

    Shape shape;
    std::vector<std::int64_t> first_ranks;     // of the first fault: what "others" leaves out
    std::vector<std::int64_t> previous_ranks;  // of the fault before: what "same" means

private:
    Result<Value> close_default(const Parameter& parameter, const std::string& path) {
        if (parameter.type == ValueType::ranks || parameter.type == ValueType::nodes) {
            Setting setting;
            setting.selector = parameter.fallback.empty() ? "any" : parameter.fallback;
            return close(setting, parameter, path);
        }
        if (parameter.fallback.empty()) return Value{.type = parameter.type};
        auto value = parse_value(parameter.type, parameter.fallback);
        CHECK(value.has_value());  // defaults are ours
        return value;
    }

    Result<Value> close(const Setting& setting, const Parameter& parameter, const std::string& path) {
        if (!setting.selector.empty()) return select(setting, parameter, path);
        if (setting.range) {
            Value value = setting.range->first;
            const auto width = static_cast<std::uint64_t>(setting.range->second.number - value.number) + 1;
            value.number += static_cast<std::int64_t>(draw_.below(path, width));
            return value;
        }
        if (setting.options.empty())
            return refuse(ErrorCode::bad_input, "'" + parameter.name + "' has no value", "", setting.place);
        const Value& value = setting.options[draw_.below(path, setting.options.size())];
        const bool listed = parameter.type == ValueType::ranks || parameter.type == ValueType::nodes;
        const std::int64_t bound = parameter.type == ValueType::nodes ? shape.nodes : shape.ranks;
        if (listed && !value.list.empty() && value.list.back() >= bound) {
            return refuse(ErrorCode::bad_input,
                          fmt::format("{} {} is outside the cluster", parameter.name, value.list.back()),
                          fmt::format("it has {} {}, numbered from 0", bound,
                                      parameter.type == ValueType::nodes ? "nodes" : "ranks"),
                          setting.place);
        }
        return value;
    }

    Result<Value> select(const Setting& setting, const Parameter& parameter, const std::string& path) {
        const bool nodes = parameter.type == ValueType::nodes;
        const std::vector<std::int64_t> all = all_below(nodes ? shape.nodes : shape.ranks);
        const std::string& text = setting.selector;
        const auto space = text.find_last_of(' ');
        std::int64_t number = 0;
        const bool numbered =
            space != text.npos &&
            std::from_chars(text.data() + space + 1, text.data() + text.size(), number).ec == std::errc();
        Value value{.type = parameter.type};
        if (text == "all") {
            value.list = all;
        } else if (text == "first") {
            value.list = {all.front()};
        } else if (text == "last") {
            value.list = {all.back()};
        } else if (text == "others") {
            value.list = without(all, first_ranks);
        } else if (text == "same") {
            value.list = previous_ranks;
        } else if (text == "any") {
            value.list = draw_.some_of(path, all, 1);
        } else if (text == "any node" || text == "first node" || text == "last node" ||
                   text.rfind("node ", 0) == 0) {
            const std::int64_t node =
                text == "any node"
                    ? static_cast<std::int64_t>(draw_.below(path, static_cast<std::uint64_t>(shape.nodes)))
                : text == "first node" ? 0
                : text == "last node"  ? shape.nodes - 1
                                       : number;
            value.list = nodes ? std::vector<std::int64_t>{node} : shape.ranks_of(node);
        } else if (text.rfind("any but ", 0) == 0 && numbered) {
            value.list = draw_.some_of(path, without(all, {number}), 1);
        } else if (text.rfind("all but ", 0) == 0 && numbered) {
            value.list = without(all, {number});
        } else if (text.rfind("any ", 0) == 0 && numbered) {
            value.list = draw_.some_of(path, all, static_cast<std::size_t>(number));
            if (static_cast<std::int64_t>(value.list.size()) != number) value.list.clear();
        }
        if (value.list.empty()) {
            return refuse(ErrorCode::bad_input,
                          fmt::format("'{}' = \"{}\" selects nobody", parameter.name, text),
                          fmt::format("the cluster has {} nodes and {} ranks", shape.nodes, shape.ranks),
                          setting.place);
        }
        return value;
    }

    const Scenario& scenario_;
    Draw draw_;
};

Trigger trigger_of(const Values& values, bool at_start_by_default) {
    Trigger when;
    const auto number = [&](const char* name, std::int64_t& into) {
        if (const auto found = values.find(name); found != values.end()) into = found->second.number;
    };
    const auto text = [&](const char* name, std::string& into) {
        if (const auto found = values.find(name); found != values.end()) into = found->second.text;
    };
    number("at", when.at);
    number("step", when.step);
    number("nth", when.nth);
    number("until_step", when.until_step);
    number("lasts", when.lasts);
    text("phase", when.phase);
    text("before", when.before);
    text("comm", when.comm);
    const bool placed = when.at >= 0 || when.step >= 0 || !when.phase.empty() || !when.before.empty();
    when.always = values.at("always").number != 0;
    when.at_start = values.at("start").number != 0 || (!placed && at_start_by_default);
    return when;
}

Result<FaultSpec> close_fault(Resolver& resolver, const FaultSettings& fault, const Kind& words,
                              std::size_t index, std::int64_t steps) {
    const std::string path = fmt::format("fault.{}", index);
    auto parameters = resolver.close_all(fault.parameters, words.parameters, path);
    if (!parameters) return tl::unexpected(parameters.error());
    auto when = resolver.close_all(fault.when.values, trigger_parameters(), path + ".when");
    if (!when) return tl::unexpected(when.error());
    FaultSpec spec{fault.kind, std::move(*parameters), trigger_of(*when, words.at_start)};
    const auto refuse_when = [&](const char* key, std::string what, std::string remedy) {
        const auto at = fault.when.values.find(key);
        return refuse(ErrorCode::bad_input, std::move(what), std::move(remedy),
                      at == fault.when.values.end() ? fault.place : at->second.place);
    };
    if (steps > 0 && spec.when.step >= steps) {
        return refuse_when("step", fmt::format("step {} is after the end", spec.when.step),
                           fmt::format("the workload has {} steps, numbered from 0", steps));
    }
    if (spec.when.nth < 1)
        return refuse_when("nth", fmt::format("nth cannot be {}", spec.when.nth), "calls are counted from 1");
    if (const auto ranks = spec.ranks(); !ranks.empty()) {
        resolver.previous_ranks = ranks;
        if (index == 0) resolver.first_ranks = ranks;
    }
    return spec;
}

// Degrees of parallelism must divide the world, as their frameworks demand, unless a fault is there to break
// just that.
Result<bool> check_degrees(const Plan& plan, const Scenario& scenario) {
    for (const auto& [name, value] : plan.workload) {
        if (name.size() < 5 || name.substr(name.size() - 5) != "_size" || value.type != ValueType::integer)
            continue;
        if (value.number > 0 && plan.world_size() % value.number == 0) continue;
        const auto at = scenario.workload.find(name);
        return refuse(
            ErrorCode::bad_input,
            fmt::format("{} = {} does not divide the {} ranks", name, value.number, plan.world_size()),
            "choose a divisor, or another cluster shape",
            at == scenario.workload.end() ? Place{scenario.file.string()} : at->second.place);
    }
    return true;
}

Result<bool> check_able(const Plan& plan, const Capabilities& can, const Vocabulary& vocabulary) {
    const auto has = [](const std::vector<std::string>& all, const std::string& one) {
        return std::find(all.begin(), all.end(), "*") != all.end() ||
               std::find(all.begin(), all.end(), one) != all.end();
    };
    if (!has(can.workloads, plan.workload_kind)) {
        return refuse(
            ErrorCode::unsupported,
            fmt::format("the {} backend does not play workload '{}'", can.backend, plan.workload_kind),
            "use --runner sim");
    }
    if (plan.world_size() > can.ranks_max) {
        return refuse(ErrorCode::unsupported,
                      fmt::format("{} ranks are more than the {} of the {} backend", plan.world_size(),
                                  can.ranks_max, can.backend),
                      "");
    }
    for (const FaultSpec& fault : plan.faults) {
        for (const std::string& lever : vocabulary.fault(fault.kind)->levers) {
            if (!has(can.levers, lever)) {
                return refuse(ErrorCode::unsupported,
                              fmt::format("the {} backend cannot do '{}': it has no lever '{}'", can.backend,
                                          fault.kind, lever),
                              "use --runner sim");
            }
        }
    }
    return true;
}

}  // namespace

Result<Trial> resolve(const Scenario& scenario, Seed seed, const Capabilities& capabilities,
                      const Vocabulary& vocabulary) {
    const Kind* workload = vocabulary.workload(scenario.workload_kind);
    CHECK(workload != nullptr);  // load() has seen to it
    Resolver resolver(scenario, seed);
    Plan plan;
    plan.scenario = scenario.id;
    plan.scenario_digest = scenario.digest;
    plan.seed = seed;
    plan.bug = scenario.bug;
    plan.workload_kind = scenario.workload_kind;
    plan.expect = scenario.expect;
    plan.backends = scenario.backends;
    auto cluster = resolver.close_all(scenario.cluster, cluster_parameters(), "cluster");
    if (!cluster) return tl::unexpected(cluster.error());
    plan.cluster = std::move(*cluster);
    auto settings = resolver.close_all(scenario.workload, workload->parameters, "workload");
    if (!settings) return tl::unexpected(settings.error());
    plan.workload = std::move(*settings);
    resolver.shape = {plan.world_size(), plan.number(plan.cluster, "nodes"),
                      plan.number(plan.cluster, "gpus_per_node")};
    if (resolver.shape.ranks < 1 || resolver.shape.nodes < 1 ||
        resolver.shape.ranks > resolver.shape.nodes * resolver.shape.gpus_per_node) {
        return refuse(ErrorCode::bad_input,
                      fmt::format("{} ranks do not fit {} nodes of {} devices", resolver.shape.ranks,
                                  resolver.shape.nodes, resolver.shape.gpus_per_node),
                      "one rank a device, one at least", {scenario.file.string()});
    }
    const auto steps = plan.workload.find("steps");
    for (std::size_t i = 0; i < scenario.faults.size(); ++i) {
        auto fault = close_fault(resolver, scenario.faults[i], *vocabulary.fault(scenario.faults[i].kind), i,
                                 steps == plan.workload.end() ? 0 : steps->second.number);
        if (!fault) return tl::unexpected(fault.error());
        plan.faults.push_back(std::move(*fault));
    }
    for (const std::int64_t rank : plan.expect.ranks) {
        if (rank >= resolver.shape.ranks) {
            return refuse(ErrorCode::bad_input, fmt::format("expect.rank {} is outside the cluster", rank),
                          fmt::format("it has {} ranks, numbered from 0", resolver.shape.ranks),
                          {scenario.file.string()});
        }
    }
    if (auto fits = check_degrees(plan, scenario); !fits) return tl::unexpected(fits.error());
    if (auto able = check_able(plan, capabilities, vocabulary); !able) return tl::unexpected(able.error());

    Trial trial{plan, plan, plan};
    trial.control.variant = Variant::control;
    trial.control.faults.clear();
    trial.healed.variant = Variant::healed;
    if (scenario.heal.fault == "none") trial.healed.faults.clear();
    const auto override_with = [&](const Settings& changes, const std::vector<Parameter>& parameters,
                                   const char* path, Values& values) -> Result<bool> {
        auto closed = resolver.close_all(changes, parameters, path);
        if (!closed) return tl::unexpected(closed.error());
        for (const auto& [name, setting] : changes) values[name] = closed->at(name);
        return true;
    };
    if (auto done =
            override_with(scenario.heal.cluster, cluster_parameters(), "heal.cluster", trial.healed.cluster);
        !done)
        return tl::unexpected(done.error());
    if (auto done = override_with(scenario.heal.workload, workload->parameters, "heal.workload",
                                  trial.healed.workload);
        !done)
        return tl::unexpected(done.error());
    return trial;
}

}  // namespace deadrank::scenarios
