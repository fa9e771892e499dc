// runners/line/scale.cpp — Cluster settings replaced, group sizes bounded.
#include "runners/line/scale.h"

#include <algorithm>

namespace deadrank::runners {

namespace {

void set(scenarios::Settings& settings, const std::string& name, std::int64_t value) {
    scenarios::Setting setting;
    setting.options = {{.type = scenarios::ValueType::integer, .number = value}};
    if (const auto old = settings.find(name); old != settings.end()) setting.place = old->second.place;
    settings[name] = setting;
}

// What it states, where that is one number.
std::int64_t stated(const scenarios::Settings& settings, const std::string& name) {
    const auto found = settings.find(name);
    return found != settings.end() && found->second.options.size() == 1 ? found->second.options.front().number
                                                                        : 0;
}

bool is_written_so(const scenarios::Scenario& scenario, std::int64_t ranks) {
    const std::int64_t nodes = stated(scenario.cluster, "nodes");
    return nodes > 1 && nodes * stated(scenario.cluster, "gpus_per_node") == ranks &&
           scenario.cluster.count("ranks") == 0;
}

}  // namespace

scenarios::Scenario scaled(scenarios::Scenario scenario, std::int64_t ranks) {
    if (is_written_so(scenario, ranks)) return scenario;
    const std::int64_t nodes = ranks % 2 == 0 ? 2 : 1;
    set(scenario.cluster, "nodes", nodes);
    set(scenario.cluster, "gpus_per_node", ranks / nodes);
    if (scenario.cluster.count("ranks") > 0) set(scenario.cluster, "ranks", ranks);
    for (const char* group : {"tp_size", "pp_size"}) {
        const auto stated = scenario.workload.find(group);
        if (stated == scenario.workload.end()) continue;
        const auto& options = stated->second.options;
        const bool fits =
            !options.empty() &&
            std::all_of(options.begin(), options.end(), [&](const auto& one) { return one.number <= ranks; });
        if (!fits) set(scenario.workload, group, ranks);
    }
    if (scenario.workload_kind == "tensor_parallel" && scenario.workload.count("tp_size") == 0)
        set(scenario.workload, "tp_size", ranks);
    if (scenario.workload_kind == "pipeline" && scenario.workload.count("pp_size") == 0)
        set(scenario.workload, "pp_size", ranks);
    return scenario;
}

}  // namespace deadrank::runners
