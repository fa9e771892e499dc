// results/preflight/job_snapshot.cpp — What is known of a job before it begins.
#include "results/preflight/job_snapshot.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "results/analysis/pairs.h"

namespace deadrank::results::preflight {

using Json = nlohmann::ordered_json;

std::string_view Snapshot::variable(std::string_view name) const {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string_view() : std::string_view(found->second);
}

std::vector<Snapshot> snapshots_of(const Evidence& evidence) {
    using analysis::PairTables;
    const int attempt = evidence.facts<analysis::Lives>().attempts() - 1;
    const PairTables environment(evidence, attempt, PairTables::Of::environment);
    const PairTables versions(evidence, attempt, PairTables::Of::versions);
    std::map<Rank, std::string> hosts;
    for (const Event* event : evidence.each<RankStart>())
        hosts[event->rank] = std::string(evidence.text(event->as<RankStart>()->host));
    std::vector<Snapshot> all;
    for (std::size_t i = 0; i < environment.by_process().size(); ++i) {
        const analysis::Pairs* seen = environment.by_process()[i];
        if (!seen) continue;
        Snapshot one;
        one.host = hosts[static_cast<Rank>(i)];
        for (const auto& [name, value] : *seen) one.environment.emplace(name, value);
        if (const analysis::Pairs* pairs = versions.by_process()[i]) {
            for (const auto& [name, value] : *pairs) one.versions.emplace(name, value);
        }
        all.push_back(std::move(one));
    }
    return all;
}

std::string to_json(const Snapshot& snapshot) {
    Json json = {{"host", snapshot.host},
                 {"pid", snapshot.pid},
                 {"environment", snapshot.environment},
                 {"versions", snapshot.versions}};
    for (const Interface& one : snapshot.interfaces) {
        json["interfaces"].push_back(
            {{"name", one.name}, {"up", one.up}, {"loopback", one.loopback}, {"address", one.address}});
    }
    const auto put = [&](const char* name, const auto& value) {
        if (value) json[name] = *value;
    };
    put("shared_memory", snapshot.shared_memory);
    put("open_files", snapshot.open_files);
    put("gpus", snapshot.gpus);
    put("master_resolves", snapshot.master_resolves);
    put("master_port_taken", snapshot.master_port_taken);
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

scenarios::Result<Snapshot> snapshot_from_json(std::string_view text, const std::string& name) {
    try {
        const Json json = Json::parse(text);
        Snapshot one;
        json.at("host").get_to(one.host);
        one.pid = json.value("pid", std::int64_t{0});
        for (const auto& [key, value] : json.at("environment").items())
            one.environment.emplace(key, value.get<std::string>());
        for (const auto& [key, value] : json.at("versions").items())
            one.versions.emplace(key, value.get<std::string>());
        if (json.contains("interfaces")) {
            for (const Json& each : json["interfaces"]) {
                one.interfaces.push_back({each.at("name").get<std::string>(), each.value("up", true),
                                          each.value("loopback", false), each.value("address", true)});
            }
        }
        const auto take = [&](const char* key, auto& value) {
            if (json.contains(key)) value = json[key].get<std::decay_t<decltype(*value)>>();
        };
        take("shared_memory", one.shared_memory);
        take("open_files", one.open_files);
        take("gpus", one.gpus);
        take("master_resolves", one.master_resolves);
        take("master_port_taken", one.master_port_taken);
        return one;
    } catch (const nlohmann::json::exception& trouble) {
        return scenarios::refuse(scenarios::ErrorCode::bad_input,
                                 fmt::format("is no snapshot of a process: {}", trouble.what()),
                                 "`deadrank doctor --snapshot FILE` writes one", {name});
    }
}

}  // namespace deadrank::results::preflight
