// scenarios/format/closing.cpp — Closes what a scenario leaves open, and refuses settings that contradict
// each other.
#include "scenarios/format/closing.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "scenarios/model/error.h"
#include "scenarios/model/text.h"

namespace deadrank::scenarios {

// ── One draw per setting, named by the setting's path, so that no draw depends on another.

namespace {

// The type is not part of a selector; only its parameter knows it.
Setting typed_setting(Setting setting, ValueType type) {
    if (!setting.selector.empty()) setting.options = {Value{.type = type}};
    return setting;
}

}  // namespace

Result<Value> Closing::close(const Setting& setting, const std::string& path) const {
    const Draw draw(seed_.number, scenario_, path);
    if (setting.range) {
        Value value = setting.range->first;
        value.number = draw.between(0, value.number, setting.range->second.number);
        return value;
    }
    CHECK(!setting.options.empty());
    Value value = setting.options[draw.below(0, setting.options.size())];
    if (!counts_members(value.type)) return value;
    const std::string words = setting.selector.empty() ? value_text(value) : setting.selector;
    auto members = select(value.type, words, shape_, earlier_, draw);
    if (!members) {
        Error error = members.error();
        error.place = setting.place;
        return tl::unexpected(std::move(error));
    }
    value.list = std::move(*members);
    return value;
}

Result<void> Closing::name_ranks(Expectation& expect) const {
    if (expect.rank_words.empty()) return {};
    const Draw draw(seed_.number, scenario_, "expect.rank");
    auto ranks = select(ValueType::ranks, expect.rank_words, shape_, earlier_, draw);
    if (!ranks) return tl::unexpected(ranks.error());
    expect.ranks = std::move(*ranks);
    expect.rank_words.clear();
    return {};
}

Result<Value> Closing::fallback(const Parameter& parameter, const std::string& path) const {
    if (counts_members(parameter.type)) {
        return close(typed_setting({.selector = parameter.fallback}, parameter.type), path);
    }
    auto value = parse_value(parameter.type, parameter.fallback);
    CHECK(value.has_value());  // defaults are our own
    return value;
}

Result<Values> Closing::all(const Settings& settings, const std::vector<Parameter>& parameters,
                            const std::string& path) const {
    Values values;
    for (const Parameter& parameter : parameters) {
        const std::string name = path + "." + parameter.name;
        const auto found = settings.find(parameter.name);
        if (found == settings.end() && parameter.fallback.empty()) continue;
        auto value = found != settings.end() ? close(typed_setting(found->second, parameter.type), name)
                                             : fallback(parameter, name);
        if (!value) return tl::unexpected(value.error());
        values.emplace(parameter.name, std::move(*value));
    }
    return values;
}

Result<Values> Closing::stated(const Settings& settings, const std::string& path) const {
    Values values;
    for (const auto& [name, setting] : settings) {
        auto value = close(setting, path + "." + name);
        if (!value) return tl::unexpected(value.error());
        values.emplace(name, std::move(*value));
    }
    return values;
}

Trigger trigger_of(const Values& when, bool at_start) {
    const auto number = [&](const char* name, std::int64_t otherwise) {
        const auto found = when.find(name);
        return found == when.end() ? otherwise : found->second.number;
    };
    const auto text = [&](const char* name) {
        const auto found = when.find(name);
        return found == when.end() ? std::string() : found->second.text;
    };
    Trigger trigger{.at = number("at", -1),
                    .step = number("step", -1),
                    .phase = text("phase"),
                    .before = text("before"),
                    .comm = text("comm"),
                    .nth = number("nth", 1),
                    .always = number("always", 0) != 0,
                    .until_step = number("until_step", -1),
                    .lasts = number("lasts", -1)};
    const bool placed = trigger.at >= 0 || trigger.step >= 0 || !trigger.phase.empty() ||
                        !trigger.before.empty() || !trigger.comm.empty();
    trigger.at_start = number("start", 0) != 0 || (!placed && at_start);
    return trigger;
}

// ── Checked after all draws: a scenario may be sound for one seed and not for the next.

namespace {

using Found = std::optional<Contradiction>;

constexpr std::int64_t most_of_anything = 1'000'000;  // so that no product of two overflows
constexpr std::int64_t most_ranks = 10'000'000;       // so that a list of them fits into memory

// Degrees of parallelism: tp_size, pp_size, dp_size, ep_size, cp_size.
bool is_degree(std::string_view name, const Value& value) {
    return name.size() == 7 && name.ends_with("p_size") && value.type == ValueType::integer;
}

Found degree_contradiction(const Plan& plan) {
    for (const auto& [name, value] : plan.workload) {
        if (!is_degree(name, value)) continue;
        if (value.number >= 1 && plan.world_size() % value.number == 0) continue;
        return Contradiction{
            "workload." + name,
            fmt::format("{} = {} does not divide the {} ranks", name, value.number, plan.world_size()),
            "choose a divisor of them, or another shape of the cluster"};
    }
    return std::nullopt;
}

Found outside(const std::string& setting, std::string_view noun, const std::vector<std::int64_t>& numbers,
              std::int64_t end) {
    for (const std::int64_t number : numbers) {
        if (number < end) continue;
        return Contradiction{setting, fmt::format("{} {} is outside the cluster", noun, number),
                             fmt::format("it has {}s 0 to {}", noun, end - 1)};
    }
    return std::nullopt;
}

Found find_step_after_end(const Plan& plan, const std::string& setting, std::int64_t step) {
    const auto steps = plan.workload.find("steps");
    if (steps == plan.workload.end() || step < steps->second.number) return std::nullopt;
    return Contradiction{setting, fmt::format("step {} is after the end", step),
                         fmt::format("the workload has steps 0 to {}", steps->second.number - 1)};
}

Found fault_contradiction(const Plan& plan, const FaultSpec& fault, const std::string& path) {
    for (const auto& [name, value] : fault.parameters) {
        Found found;
        if (value.type == ValueType::ranks)
            found = outside(path + "." + name, "rank", value.list, plan.world_size());
        if (value.type == ValueType::nodes) {
            found = outside(path + "." + name, "node", value.list, plan.number(plan.cluster, "nodes"));
        }
        if (found) return found;
    }
    const Trigger& when = fault.when;
    if (auto found = find_step_after_end(plan, path + ".when.step", when.step)) return found;
    if (when.until_step >= 0 && when.until_step < when.step) {
        return Contradiction{path + ".when.until_step",
                             fmt::format("until_step {} is before step {}", when.until_step, when.step),
                             "let it end at its first step or later"};
    }
    return std::nullopt;
}

// Keys of node_interfaces are host names: node0, node1, …
Found unknown_node(const Plan& plan) {
    const auto stated = plan.cluster.find("node_interfaces");
    if (stated == plan.cluster.end()) return std::nullopt;
    const std::int64_t nodes = plan.number(plan.cluster, "nodes");
    for (const auto& [name, interfaces] : stated->second.table) {
        bool known = false;
        for (std::int64_t node = 0; node < nodes && !known; ++node)
            known = name == fmt::format("node{}", node);
        if (known) continue;
        return Contradiction{"cluster.node_interfaces", fmt::format("there is no node '{}'", name),
                             fmt::format("nodes are node0 to node{}", nodes - 1)};
    }
    return std::nullopt;
}

}  // namespace

Found cluster_contradiction(const Plan& plan) {
    for (const char* name : {"nodes", "gpus_per_node"}) {
        const std::int64_t number = plan.number(plan.cluster, name);
        if (number <= most_of_anything) continue;
        return Contradiction{std::string("cluster.") + name,
                             fmt::format("{} = {} is out of all bounds", name, number),
                             fmt::format("the most is {}", most_of_anything)};
    }
    if (auto found = unknown_node(plan)) return found;
    const std::int64_t devices =
        plan.number(plan.cluster, "nodes") * plan.number(plan.cluster, "gpus_per_node");
    if (plan.world_size() > most_ranks) {
        return Contradiction{"cluster.nodes",
                             fmt::format("{} ranks are out of all bounds", plan.world_size()),
                             fmt::format("the most is {}", most_ranks)};
    }
    if (plan.world_size() <= devices) return std::nullopt;
    return Contradiction{"cluster.ranks",
                         fmt::format("{} ranks need more than the {} devices", plan.world_size(), devices),
                         "each rank has a device of its own"};
}

Found contradiction(const Plan& plan) {
    if (auto found = cluster_contradiction(plan)) return found;
    if (auto found = degree_contradiction(plan)) return found;
    for (std::size_t i = 0; i < plan.faults.size(); ++i) {
        if (auto found = fault_contradiction(plan, plan.faults[i], fmt::format("fault.{}", i))) return found;
    }
    if (auto found = outside("expect.ranks", "rank", plan.expect.ranks, plan.world_size())) return found;
    return find_step_after_end(plan, "expect.step", plan.expect.step.value_or(-1));
}

// A setting is turned on by any value but its default; without a default, by any but 0, false and the first
// choice, which mean the same as its absence.
namespace {

bool turned_on(const Plan& plan, const Parameter& parameter) {
    const auto said = plan.workload.find(parameter.name);
    if (said == plan.workload.end()) return false;
    if (!parameter.fallback.empty()) {
        const Value usual = parse_value(parameter.type, parameter.fallback).value();
        return said->second.number != usual.number || said->second.text != usual.text;
    }
    if (parameter.type == ValueType::choice) return said->second.text != parameter.choices.front();
    return said->second.number != 0 || !said->second.text.empty();
}

bool meets_needs(const Plan& plan, const Kind& kind, std::string_view needs) {
    return any_needed(needs, [&](std::string_view name) {
        return std::any_of(kind.parameters.begin(), kind.parameters.end(),
                           [&](const Parameter& one) { return one.name == name && turned_on(plan, one); });
    });
}

// "data_parallel, expert_parallel and zero have it".
std::string who_has_phase(const Vocabulary& vocabulary, const std::string& phase) {
    std::vector<std::string> names;
    for (const Kind& kind : vocabulary.workloads) {
        const bool has = std::any_of(kind.phases.begin(), kind.phases.end(),
                                     [&](const PhaseWord& one) { return one.name == phase; });
        if (has) names.push_back(kind.name);
    }
    if (names.empty()) return "no workload has it: say a call with before = \"comm_init\", or leave it out";
    const std::string last = names.back();
    names.pop_back();
    if (names.empty()) return last + " has it";
    return fmt::format("{} and {} have it", fmt::join(names, ", "), last);
}

Found phase_of_fault(const Plan& plan, const Kind& kind, const Vocabulary& vocabulary, std::size_t fault) {
    const std::string& phase = plan.faults[fault].when.phase;
    const std::string path = fmt::format("fault.{}.when.phase", fault);
    std::vector<std::string> known;
    for (const PhaseWord& one : kind.phases) {
        known.push_back(one.name);
        if (one.name != phase) continue;
        if (one.needs.empty() || meets_needs(plan, kind, one.needs)) return std::nullopt;
        return Contradiction{path,
                             fmt::format("{} never enters phase {} without {}", kind.name, phase, one.needs),
                             fmt::format("set {}, or wait for another phase", one.needs)};
    }
    return Contradiction{
        path, fmt::format("{} has no phase {}; its phases are {}", kind.name, phase, fmt::join(known, ", ")),
        who_has_phase(vocabulary, phase)};
}

Found rest_of_a_cut(const Plan& plan, const Parameter& parameter) {
    const auto cut = plan.workload.find(parameter.divides);
    if (cut == plan.workload.end()) return std::nullopt;
    const std::int64_t parts = plan.number(plan.workload, parameter.name);
    if (parts >= 1 && cut->second.number % parts == 0) return std::nullopt;
    return Contradiction{"workload." + parameter.name,
                         fmt::format("{} = {} does not divide {} = {}", parameter.name, parts,
                                     parameter.divides, cut->second.number),
                         "choose a divisor of it"};
}

// Of a flag that "divides" several settings, "batch/micro_batches/rounds": the first is cut into so many
// parts in so many rounds, and under the flag the parts of a round differ in pairs. Each must hold two or
// more.
Found find_unpaired_parts(const Plan& plan, const Parameter& parameter) {
    std::vector<std::int64_t> numbers;
    for (const std::string_view setting : parts_of(parameter.divides, '/')) {
        const std::string name(setting);
        const bool stated = plan.workload.contains(name);
        numbers.push_back(stated ? std::max<std::int64_t>(plan.number(plan.workload, name), 1) : 1);
    }
    numbers.resize(3, 1);
    const std::int64_t size = numbers[0] / numbers[1], parts = numbers[1] / numbers[2];
    if (size >= 2 && parts % 2 == 0) return std::nullopt;
    return Contradiction{"workload." + parameter.name,
                         fmt::format("{} parts of {} cannot differ in pairs ({} = {})", parts, size,
                                     parameter.divides, fmt::join(numbers, "/")),
                         "choose an even number of parts with 2 or more in each"};
}

}  // namespace

Found phase_contradiction(const Plan& plan, const Vocabulary& vocabulary) {
    const Kind* kind = vocabulary.workload(plan.workload_kind);
    if (!kind || kind->phases.empty()) return std::nullopt;
    for (std::size_t i = 0; i < plan.faults.size(); ++i) {
        if (plan.faults[i].when.phase.empty()) continue;
        if (auto found = phase_of_fault(plan, *kind, vocabulary, i)) return found;
    }
    return std::nullopt;
}

Found launcher_contradiction(const Plan& plan, const Vocabulary& vocabulary) {
    const Kind* kind = vocabulary.workload(plan.workload_kind);
    const LauncherKind launcher = launcher_of(plan);
    if (plan.cluster.contains("worker_failure") && launcher != LauncherKind::spawn)
        return Contradiction{"cluster.worker_failure", "no main program has spawned these ranks",
                             "say launcher = \"spawn\", or leave worker_failure out"};
    if (!kind || !kind->launcher.empty() || launcher != LauncherKind::replicas) return std::nullopt;
    std::vector<std::string> able;
    for (const Kind& other : vocabulary.workloads)
        if (other.launcher == enum_name(launcher)) able.push_back(other.name);
    return Contradiction{"cluster.launcher",
                         fmt::format("{} cannot go on without one of its ranks", kind->name),
                         fmt::format("play {}, or say another launcher", fmt::join(able, " or "))};
}

Found needs_contradiction(const Plan& plan, const Vocabulary& vocabulary, const Values& among) {
    const Kind* kind = vocabulary.workload(plan.workload_kind);
    if (!kind) return std::nullopt;
    for (const Parameter& parameter : kind->parameters) {
        if (!among.contains(parameter.name) || !turned_on(plan, parameter)) continue;
        if (!parameter.divides.empty()) {
            auto found = parameter.type == ValueType::boolean ? find_unpaired_parts(plan, parameter)
                                                              : rest_of_a_cut(plan, parameter);
            if (found) return found;
        }
        if (parameter.needs.empty()) continue;
        if (meets_needs(plan, *kind, parameter.needs)) continue;
        return Contradiction{"workload." + parameter.name,
                             fmt::format("{} does nothing without {}", parameter.name, parameter.needs),
                             fmt::format("set {} as well, or leave {} out", parameter.needs, parameter.name)};
    }
    return std::nullopt;
}

}  // namespace deadrank::scenarios
