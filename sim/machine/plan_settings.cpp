// sim/machine/plan_settings.cpp — One line per setting: its name in the plan, and where it goes.
#include "sim/machine/plan_settings.h"

#include <fmt/format.h>
#include <functional>
#include <utility>

#include "scenarios/model/cluster_choices.h"

namespace deadrank::sim {

namespace {

using scenarios::Value;
using Take = std::function<void(ClusterSettings&, const Value&)>;

Take to(std::int64_t ClusterSettings::*member) {
    return [member](ClusterSettings& settings, const Value& value) { settings.*member = value.number; };
}
Take to(int ClusterSettings::*member) {
    return [member](ClusterSettings& settings, const Value& value) {
        settings.*member = static_cast<int>(value.number);
    };
}
Take to(bool ClusterSettings::*member) {
    return [member](ClusterSettings& settings, const Value& value) { settings.*member = value.number != 0; };
}
Take to(Time ClusterSettings::*member) {
    return [member](ClusterSettings& settings, const Value& value) { settings.*member = Time(value.number); };
}
template <scenarios::WordEnum Choice>
Take to(Choice ClusterSettings::*member) {
    return [member](ClusterSettings& settings, const Value& value) {
        settings.*member = scenarios::choice_of<Choice>(value);
    };
}
// Whether the plan states this choice.
template <scenarios::WordEnum Choice>
Take to(bool ClusterSettings::*member, Choice wanted) {
    return [member, wanted](ClusterSettings& settings, const Value& value) {
        settings.*member = scenarios::choice_of<Choice>(value) == wanted;
    };
}

std::vector<std::string> words_of(const std::string& text) {
    std::vector<std::string> words;
    std::string word;
    for (const char letter : text + ",") {
        if (letter != ',' && letter != ' ') {
            word += letter;
        } else if (!word.empty()) {
            words.push_back(std::exchange(word, {}));
        }
    }
    return words;
}

void take_node_interfaces(ClusterSettings& settings, const Value& value) {
    for (const auto& [node, interfaces] : value.table) settings.node_interfaces[node] = words_of(interfaces);
}

void take_versions(ClusterSettings& settings, const Value& value) {
    for (const auto& [package, version] : value.table) settings.versions[package] = version;
}

using SettingHandlers = std::map<std::string, Take, std::less<>>;

SettingHandlers network_handlers() {
    return {
        {"interfaces",
         [](ClusterSettings& settings, const Value& value) { settings.interfaces = words_of(value.text); }},
        {"node_interfaces", take_node_interfaces},
        {"rdma", to(&ClusterSettings::rdma)},
        {"gpudirect", to(&ClusterSettings::gpudirect)},
        {"gid_index", to(&ClusterSettings::gid_index)},
        {"nics", to(&ClusterSettings::nics)},
    };
}

SettingHandlers meeting_handlers() {
    return {
        {"nodes_min", to(&ClusterSettings::nodes_min)},
        {"node_returns_after", to(&ClusterSettings::node_returns_after)},
        {"store", to(&ClusterSettings::store)},
        {"run_id", [](ClusterSettings& settings, const Value& value) { settings.run_id = value.text; }},
        {"restart_count", to(&ClusterSettings::agents_count_restarts, scenarios::RestartCount::agent)},
    };
}

SettingHandlers other_handlers() {
    return {
        {"nodes", to(&ClusterSettings::nodes)},
        {"gpus_per_node", to(&ClusterSettings::gpus_per_node)},
        {"ranks", to(&ClusterSettings::ranks)},
        {"link.latency", to(&ClusterSettings::link_latency)},
        {"link.bandwidth", to(&ClusterSettings::link_bandwidth)},
        {"nvlink.latency", to(&ClusterSettings::nvlink_latency)},
        {"nvlink.bandwidth", to(&ClusterSettings::nvlink_bandwidth)},
        {"topology", to(&ClusterSettings::topology)},
        {"nodes_per_leaf", to(&ClusterSettings::nodes_per_leaf)},
        {"device_memory", to(&ClusterSettings::device_memory)},
        {"host_memory", to(&ClusterSettings::host_memory)},
        {"shared_memory", to(&ClusterSettings::shared_memory)},
        {"open_files", to(&ClusterSettings::open_files)},
        {"disk", to(&ClusterSettings::disk)},
        {"storage.bandwidth", to(&ClusterSettings::storage_bandwidth)},
        {"storage.latency", to(&ClusterSettings::storage_latency)},
        {"versions", take_versions},
        {"environment",
         [](ClusterSettings& settings, const Value& value) { settings.environment = value.table; }},
        {"library", to(&ClusterSettings::library)},
        {"launcher", to(&ClusterSettings::launcher)},
        {"worker_failure", to(&ClusterSettings::hides_failures, scenarios::WorkerFailure::hidden)},
        {"test_timeout", to(&ClusterSettings::test_timeout)},
        {"restarts_max", to(&ClusterSettings::restarts_max)},
        {"spare_nodes", to(&ClusterSettings::spare_nodes)},
        {"health_check", to(&ClusterSettings::health_check)},
        {"requeue_after", to(&ClusterSettings::requeue_after)},
        {"collective_timeout", to(&ClusterSettings::collective_timeout)},
        {"watchdog", to(&ClusterSettings::watchdog)},
        {"store_timeout", to(&ClusterSettings::store_timeout)},
        {"debug", to(&ClusterSettings::debug_detail, scenarios::DebugLevel::detail)},
        {"individuals", to(&ClusterSettings::individuals)},
        {"apart", [](ClusterSettings& settings,
                     const Value& value) { settings.apart.assign(value.list.begin(), value.list.end()); }},
        {"clock_offset", to(&ClusterSettings::clock_offset)},
        {"clock_drift", to(&ClusterSettings::clock_drift_ppb)},
        {"time_limit", to(&ClusterSettings::time_limit)},
        {"observe", to(&ClusterSettings::observe)},
        {"monitor_interval", to(&ClusterSettings::monitor_interval)},
    };
}

const SettingHandlers& setting_handlers() {
    static const SettingHandlers table = [] {
        SettingHandlers all = other_handlers();
        all.merge(network_handlers());
        all.merge(meeting_handlers());
        return all;
    }();
    return table;
}

}  // namespace

scenarios::Result<ClusterSettings> cluster_settings(const scenarios::Values& values) {
    ClusterSettings settings;
    for (const auto& [name, value] : values) {
        const auto taker = setting_handlers().find(name);
        if (taker == setting_handlers().end()) {
            return scenarios::refuse(scenarios::ErrorCode::internal,
                                     fmt::format("the simulator knows no cluster setting '{}'", name),
                                     "add it to sim/machine/plan_settings.cpp");
        }
        taker->second(settings, value);
    }
    return settings;
}

}  // namespace deadrank::sim
