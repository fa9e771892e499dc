// sim/machine/environment.cpp — Three layers, the nearest first: the process's own, the launcher's, the
// cluster's.
#include "sim/machine/environment.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fmt/format.h>
#include <map>

namespace deadrank::sim {

namespace {

constexpr std::array launcher_names = {"LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT",
                                       "RANK",       "WORLD_SIZE"};

const std::optional<std::string>* find(const std::vector<Tampering::Setting>& settings,
                                       std::string_view name) {
    for (const auto& [known, value] : settings) {
        if (known == name) return &value;
    }
    return nullptr;
}

std::string joined(const std::map<std::string, std::string>& settings) {
    std::string text;
    for (const auto& [name, value] : settings) {
        if (!text.empty()) text += '\n';
        text.append(name).append(1, '=').append(value);
    }
    return text;
}

void lay_over(std::map<std::string, std::string>& all, const std::vector<Tampering::Setting>& own) {
    for (const auto& [name, value] : own) {
        if (value) {
            all[name] = *value;
        } else {
            all.erase(name);
        }
    }
}

}  // namespace

Environment::Environment(const ClusterSettings& settings) : settings_(settings) {}

std::optional<std::string> Environment::get(const Process& process, std::string_view name) const {
    if (process.tampering) {
        if (const auto* own = find(process.tampering->environment, name)) return *own;
    }
    if (auto given = from_launcher(process, name)) return given;
    const auto found = settings_.environment.find(std::string(name));
    if (found == settings_.environment.end()) return std::nullopt;
    return found->second;
}

std::optional<std::string> Environment::from_launcher(const Process& process, std::string_view name) const {
    const auto local_size = [&] {
        const Rank first = static_cast<Rank>(process.node) * settings_.gpus_per_node;
        return std::min<Rank>(settings_.gpus_per_node, settings_.process_count() - first);
    };
    if (name == "RANK") return std::to_string(process.given_rank);
    if (name == "WORLD_SIZE") return std::to_string(settings_.process_count());
    if (name == "LOCAL_RANK") return std::to_string(process.local);
    if (name == "LOCAL_WORLD_SIZE") return std::to_string(local_size());
    // What a launch script sets unless the job says otherwise.
    const bool told = settings_.environment.contains(std::string(name));
    if (name == "MASTER_ADDR" && !told) return "node0";
    if (name == "MASTER_PORT" && !told) return "29500";
    if (name == "NCCL_DEBUG" && !told) return "WARN";
    if (name == "TORCH_DISTRIBUTED_DEBUG" && !told && settings_.debug_detail) return "DETAIL";
    return std::nullopt;
}

std::string Environment::version(const Process& process, std::string_view package) const {
    if (process.tampering) {
        if (const auto* own = find(process.tampering->versions, package)) return own->value_or("");
    }
    const auto found = settings_.versions.find(std::string(package));
    return found == settings_.versions.end() ? "" : found->second;
}

std::string Environment::lines(const Process& process, int attempt) const {
    std::map<std::string, std::string> all = settings_.environment;
    for (const char* name : launcher_names) all[name] = from_launcher(process, name).value_or(all[name]);
    for (const char* name : {"NCCL_DEBUG", "TORCH_DISTRIBUTED_DEBUG"}) {
        if (auto value = from_launcher(process, name)) all[name] = *value;
    }
    if (settings_.launcher == LauncherKind::torchrun)
        all["TORCHELASTIC_RESTART_COUNT"] = std::to_string(attempt);
    if (process.tampering) lay_over(all, process.tampering->environment);
    return joined(all);
}

std::string Environment::version_lines(const Process& process) const {
    std::map<std::string, std::string> all = settings_.versions;
    if (process.tampering) lay_over(all, process.tampering->versions);
    return joined(all);
}

void override_setting(std::vector<Tampering::Setting>& settings, std::string_view name,
                      std::optional<std::string> value) {
    for (auto& [known, held] : settings) {
        if (known == name) {
            held = std::move(value);
            return;
        }
    }
    settings.emplace_back(name, std::move(value));
}

std::int64_t lax_integer(const std::string& text) { return std::strtoll(text.c_str(), nullptr, 0); }

}  // namespace deadrank::sim
