// scenarios/format/resolve.cpp — Makes the three plans of a scenario from one set of draws, and refuses what
// is contradictory or not supported.
#include <algorithm>
#include <fmt/format.h>
#include <numeric>

#include "scenarios/format/closing.h"
#include "scenarios/format/plan_file.h"
#include "scenarios/format/scenario_file.h"
#include "scenarios/model/error.h"

namespace deadrank::scenarios {

namespace {

Place place_in(const Settings& settings, const std::string& name, const Place& otherwise) {
    const auto found = settings.find(name);
    return found == settings.end() ? otherwise : found->second.place;
}

// "0.rank" and "0.when.step": settings of the first fault.
Place fault_place(const std::vector<FaultSettings>& faults, const std::string& name) {
    const FaultSettings& fault = faults.at(static_cast<std::size_t>(std::stoul(name)));
    const std::string rest = name.substr(name.find('.') + 1);
    return rest.starts_with("when.") ? place_in(fault.when.values, rest.substr(5), fault.place)
                                     : place_in(fault.parameters, rest, fault.place);
}

// Where the file states the setting that the contradiction blames.
Place setting_place(const Scenario& scenario, const std::string& setting) {
    const Place file{scenario.file.string()};
    const auto dot = setting.find('.');
    const std::string part = setting.substr(0, dot);
    const std::string name = setting.substr(dot + 1);
    if (part == "cluster") return place_in(scenario.cluster, name, file);
    if (part == "workload") return place_in(scenario.workload, name, file);
    return part == "fault" ? fault_place(scenario.faults, name) : file;
}

tl::unexpected<Error> refuse_it(const Scenario& scenario, const Contradiction& found) {
    return refuse(ErrorCode::bad_input, found.what, found.remedy, setting_place(scenario, found.setting));
}

Error placed(Error error, const Scenario& scenario) {
    error.place = {scenario.file.string()};
    return error;
}

bool is_able(const std::vector<std::string>& all, const std::string& one) {
    const std::string family = one.substr(0, one.find('.'));
    return std::any_of(all.begin(), all.end(),
                       [&](const std::string& able) { return able == "*" || able == one || able == family; });
}

Result<void> check_able(const Scenario& scenario, const Plan& plan, const Capabilities& backend,
                        const Vocabulary& vocabulary) {
    const Place file{scenario.file.string()};
    const std::string remedy = backend.backend == BackendId::sim ? "" : "--runner sim can";
    if (!is_able(backend.workloads, plan.workload_kind)) {
        return refuse(ErrorCode::unsupported,
                      fmt::format("the backend {} has no workload '{}'", backend.backend, plan.workload_kind),
                      remedy, file);
    }
    if (plan.world_size() > backend.ranks_max) {
        return refuse(ErrorCode::unsupported,
                      fmt::format("{} ranks are more than the {} of the backend {}", plan.world_size(),
                                  backend.ranks_max, backend.backend),
                      remedy, file);
    }
    for (std::size_t i = 0; i < plan.faults.size(); ++i) {
        for (const std::string& lever : vocabulary.fault(plan.faults[i].kind)->levers) {
            if (is_able(backend.levers, lever)) continue;
            return refuse(ErrorCode::unsupported,
                          fmt::format("the backend {} cannot {}: it lacks the lever '{}'", backend.backend,
                                      plan.faults[i].kind, lever),
                          remedy, scenario.faults[i].place);
        }
    }
    return {};
}

// The ranks that a fault aims at, for "same" and "others" in later faults.
Targets targets_of(const FaultSpec& fault, const Shape& shape) {
    if (fault.parameters.count("rank") > 0) return fault.ranks();
    Targets ranks;
    if (const auto nodes = fault.parameters.find("node"); nodes != fault.parameters.end()) {
        for (const std::int64_t node : nodes->second.list) {
            for (const std::int64_t rank : shape.ranks_of(node)) ranks.push_back(rank);
        }
    }
    return ranks;
}

Shape shape_of(const Plan& plan) {
    return {plan.number(plan.cluster, "nodes"), plan.number(plan.cluster, "gpus_per_node"),
            plan.world_size()};
}

Result<FaultSpec> close_fault(const Closing& closing, const FaultSettings& fault, const Kind& kind,
                              const std::string& path) {
    auto parameters = closing.all(fault.parameters, kind.parameters, path);
    if (!parameters) return tl::unexpected(parameters.error());
    const auto when = closing.all(fault.when.values, trigger_parameters(), path + ".when");
    if (!when) return tl::unexpected(when.error());
    return FaultSpec{fault.kind, std::move(*parameters), trigger_of(*when, kind.at_start), fault.provokes,
                     fault.hardware};
}

Result<void> close_faults(Closing& closing, const std::vector<FaultSettings>& faults,
                          const Vocabulary& vocabulary, Plan& plan) {
    for (std::size_t i = 0; i < faults.size(); ++i) {
        const Kind* kind = vocabulary.fault(faults[i].kind);
        CHECK(kind != nullptr);  // checked by load()
        auto fault = close_fault(closing, faults[i], *kind, fmt::format("fault.{}", i));
        if (!fault) return tl::unexpected(fault.error());
        closing.add_targets(targets_of(*fault, shape_of(plan)));
        plan.faults.push_back(std::move(*fault));
    }
    return {};
}

Result<Plan> close_all(Closing& closing, const Scenario& scenario, Seed seed, const Vocabulary& vocabulary) {
    Plan plan{.scenario = scenario.id, .scenario_digest = scenario.digest, .seed = seed, .bug = scenario.bug};
    plan.bug.patch.clear();  // the last fault has it
    plan.workload_kind = scenario.workload_kind;
    plan.expect = scenario.expect;
    plan.backends = scenario.backends;
    const Kind* workload = vocabulary.workload(plan.workload_kind);
    CHECK(workload != nullptr);  // checked by load()
    auto cluster = closing.all(scenario.cluster, cluster_parameters(), "cluster");
    if (!cluster) return tl::unexpected(cluster.error());
    plan.cluster = std::move(*cluster);
    if (const auto found = cluster_contradiction(plan)) return refuse_it(scenario, *found);
    closing.set_shape(shape_of(plan));
    auto settings = closing.all(scenario.workload, workload->parameters, "workload");
    if (!settings) return tl::unexpected(settings.error());
    plan.workload = std::move(*settings);
    if (auto done = close_faults(closing, scenario.faults, vocabulary, plan); !done)
        return tl::unexpected(done.error());
    if (const auto named = closing.name_ranks(plan.expect); !named)
        return tl::unexpected(placed(named.error(), scenario));
    if (const auto found = contradiction(plan)) return refuse_it(scenario, *found);
    if (const auto found = needs_contradiction(plan, vocabulary, plan.workload))
        return refuse_it(scenario, *found);
    if (const auto found = together_contradiction(plan)) return refuse_it(scenario, *found);
    if (const auto found = phase_contradiction(plan, vocabulary)) return refuse_it(scenario, *found);
    if (const auto found = launcher_contradiction(plan, vocabulary)) return refuse_it(scenario, *found);
    if (const auto found = meeting_contradiction(plan, vocabulary)) return refuse_it(scenario, *found);
    return plan;
}

// A table is merged into the old one; any other value replaces the old one.
void apply(const Values& changes, Values& values) {
    for (const auto& [name, value] : changes) {
        Value& old = values[name];
        const auto before = old.table;
        old = value;
        old.table.insert(before.begin(), before.end());
    }
}

// The fault with the changes of the fix; settings that it does not change are drawn as before.
Result<FaultSpec> close_healed(const Plan& plan, Seed seed, const Scenario& scenario, std::size_t i,
                               const Vocabulary& vocabulary) {
    FaultSettings fault = scenario.faults[i];
    const HealedFault& healed = scenario.heal.faults[i];
    for (const auto& [name, setting] : healed.parameters) fault.parameters[name] = setting;
    for (const auto& [name, setting] : healed.when.values) fault.when.values[name] = setting;
    Closing closing(scenario.id, seed);
    closing.set_shape(shape_of(plan));
    for (std::size_t before = 0; before < i; ++before)
        closing.add_targets(targets_of(plan.faults[before], shape_of(plan)));
    return close_fault(closing, fault, *vocabulary.fault(fault.kind), fmt::format("fault.{}", i));
}

// "all" is all that there are in the run at hand, also where the fix changes how many that is.
void aim_at_all(const Scenario& scenario, std::size_t i, const Kind& kind, const Shape& shape,
                FaultSpec& fault) {
    for (const Parameter& parameter : kind.parameters) {
        const bool ranks = parameter.type == ValueType::ranks;
        const auto aimed = fault.parameters.find(parameter.name);
        if ((!ranks && parameter.type != ValueType::nodes) || aimed == fault.parameters.end()) continue;
        std::string words = parameter.fallback;
        for (const Settings* settings : {&scenario.faults[i].parameters, &scenario.heal.faults[i].parameters})
            if (const auto found = settings->find(parameter.name); found != settings->end())
                words = found->second.selector;
        if (words != "all") continue;
        std::vector<std::int64_t>& members = aimed->second.list;
        members.resize(static_cast<std::size_t>(ranks ? shape.ranks : shape.nodes));
        std::iota(members.begin(), members.end(), 0);
    }
}

Result<std::vector<FaultSpec>> heal_faults(const Plan& plan, Seed seed, const Scenario& scenario,
                                           const Vocabulary& vocabulary, const Shape& shape) {
    std::vector<FaultSpec> faults;
    const std::size_t known = std::min(scenario.heal.faults.size(), plan.faults.size());
    for (std::size_t i = 0; i < known; ++i) {
        const HealedFault& healed = scenario.heal.faults[i];
        if (!healed.kept) continue;
        auto fault = healed.changed() ? close_healed(plan, seed, scenario, i, vocabulary)
                                      : Result<FaultSpec>(plan.faults[i]);
        if (!fault) return tl::unexpected(fault.error());
        aim_at_all(scenario, i, *vocabulary.fault(fault->kind), shape, *fault);
        faults.push_back(std::move(*fault));
    }
    return faults;
}

Result<Plan> heal_plan(Plan plan, const Closing& closing, const Scenario& scenario,
                       const Vocabulary& vocabulary) {
    plan.variant = Variant::healed;
    plan.expect = scenario.heal.expect;
    if (const auto named = closing.name_ranks(plan.expect); !named)
        return tl::unexpected(placed(named.error(), scenario));
    const auto cluster = closing.stated(scenario.heal.cluster, "heal.cluster");
    if (!cluster) return tl::unexpected(cluster.error());
    Plan changed{.cluster = plan.cluster};
    apply(*cluster, changed.cluster);
    const bool sound = !cluster_contradiction(changed);  // else it is refused below
    auto faults =
        heal_faults(plan, plan.seed, scenario, vocabulary, sound ? shape_of(changed) : shape_of(plan));
    if (!faults) return tl::unexpected(faults.error());
    plan.faults = std::move(*faults);
    const auto workload = closing.stated(scenario.heal.workload, "heal.workload");
    if (!workload) return tl::unexpected(workload.error());
    apply(*cluster, plan.cluster);
    apply(*workload, plan.workload);
    auto found = contradiction(plan);
    if (!found) found = needs_contradiction(plan, vocabulary, *workload);
    if (!found) found = together_contradiction(plan);
    if (!found) found = phase_contradiction(plan, vocabulary);
    if (!found) found = meeting_contradiction(plan, vocabulary);
    if (found) {
        found->what = "healed, " + found->what;
        return refuse_it(scenario, *found);
    }
    return plan;
}

}  // namespace

namespace {

// Target ranks of faults are kept apart from the crowd of identical ranks, here and in the control.
void keep_apart(Plan& plan) {
    if (plan.cluster.count("individuals") == 0) return;
    Value& apart = plan.cluster["apart"];
    apart.type = ValueType::ranks;
    const std::int64_t per_node = plan.number(plan.cluster, "gpus_per_node");
    for (const FaultSpec& fault : plan.faults) {
        const std::vector<std::int64_t> ranks = fault.ranks();
        apart.list.insert(apart.list.end(), ranks.begin(), ranks.end());
        const auto nodes = fault.parameters.find("node");
        if (nodes == fault.parameters.end()) continue;
        for (const std::int64_t node : nodes->second.list) {
            for (std::int64_t local = 0; local < per_node; ++local)
                apart.list.push_back(node * per_node + local);
        }
    }
    std::sort(apart.list.begin(), apart.list.end());
    apart.list.erase(std::unique(apart.list.begin(), apart.list.end()), apart.list.end());
    if (apart.list.empty()) plan.cluster.erase("apart");
}

}  // namespace

Result<Trial> resolve(const Scenario& scenario, Seed seed, const Capabilities& capabilities,
                      const Vocabulary& vocabulary) {
    Closing closing(scenario.id, seed);
    auto plan = close_all(closing, scenario, seed, vocabulary);
    if (!plan) return tl::unexpected(plan.error());
    if (auto able = check_able(scenario, *plan, capabilities, vocabulary); !able)
        return tl::unexpected(able.error());
    keep_apart(*plan);
    auto healed = heal_plan(*plan, closing, scenario, vocabulary);
    if (!healed) return tl::unexpected(healed.error());
    Plan control = *plan;
    control.variant = Variant::control;
    control.faults.clear();
    return Trial{std::move(*plan), std::move(control), std::move(*healed)};
}

Result<Plan> with_faults(Plan plan, const std::vector<FaultSettings>& faults, const Vocabulary& vocabulary) {
    Closing closing(plan.scenario, plan.seed);
    closing.set_shape(shape_of(plan));
    if (const auto closed = close_faults(closing, faults, vocabulary, plan); !closed)
        return tl::unexpected(closed.error());
    if (const auto found = contradiction(plan)) {
        const bool of_fault = found->setting.starts_with("fault.");
        return refuse(ErrorCode::bad_input, found->what, found->remedy,
                      of_fault ? fault_place(faults, found->setting.substr(6)) : Place{});
    }
    return plan;
}

}  // namespace deadrank::scenarios
