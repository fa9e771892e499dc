// runners/commands/trust.cpp — Asks before somebody else's file decides which code real processes load or
// run. Data stay unquestioned: a fault can end a process, but it cannot make it run something else.
#include "runners/commands/trust.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string_view>

#include "runners/backends/process/scratch.h"
#include "scenarios/model/release.h"
#include "scenarios/model/toml_text.h"

namespace deadrank::runners::commands {

namespace fs = std::filesystem;
using scenarios::toml_text;

namespace {

// Variables by which the loader, a shell, Python, CUDA, NCCL or Open MPI finds code to run.
constexpr std::array<std::string_view, 15> loading_variables = {"PATH",
                                                                "PYTHONPATH",
                                                                "PYTHONHOME",
                                                                "PYTHONSTARTUP",
                                                                "PYTHONUSERBASE",
                                                                "PYTHONBREAKPOINT",
                                                                "BASH_ENV",
                                                                "ENV",
                                                                "GCONV_PATH",
                                                                "CUDA_INJECTION64_PATH",
                                                                "NCCL_NET_PLUGIN",
                                                                "NCCL_TUNER_PLUGIN",
                                                                "NCCL_PROFILER_PLUGIN",
                                                                "NCCL_CONF_FILE",
                                                                "TORCH_EXTENSIONS_DIR"};
constexpr std::array<std::string_view, 2> loading_prefixes = {"LD_", "OMPI_MCA_"};

bool loads_code(std::string_view variable) {
    return std::find(loading_variables.begin(), loading_variables.end(), variable) !=
               loading_variables.end() ||
           std::any_of(loading_prefixes.begin(), loading_prefixes.end(),
                       [&](std::string_view prefix) { return variable.starts_with(prefix); });
}

using Texts = std::map<std::string, std::string>;

void add_variables(const std::string& place, const Texts& variables, std::vector<std::string>& lines) {
    for (const auto& [name, value] : variables)
        if (loads_code(name))
            lines.push_back(
                fmt::format("{}: {} = {}", place, scenarios::in_one_line(name), toml_text(value)));
}

// The values that a setting may take, whichever is drawn.
std::vector<scenarios::Value> values_of(const scenarios::Settings& settings, const std::string& name) {
    const auto found = settings.find(name);
    return found == settings.end() ? std::vector<scenarios::Value>{} : found->second.options;
}
std::vector<scenarios::Value> values_of(const scenarios::Values& values, const std::string& name) {
    const auto found = values.find(name);
    return found == values.end() ? std::vector<scenarios::Value>{} : std::vector{found->second};
}

template <class Settings>
void add_cluster(const std::string& place, const Settings& cluster, std::vector<std::string>& lines) {
    for (const scenarios::Value& value : values_of(cluster, "environment"))
        add_variables(place + " environment", value.table, lines);
}

template <class Settings>
void add_fault(const std::string& place, const Settings& parameters, std::vector<std::string>& lines) {
    for (const scenarios::Value& name : values_of(parameters, "name")) {
        if (!loads_code(name.text)) continue;
        std::vector<std::string> into;
        for (const scenarios::Value& value : values_of(parameters, "value"))
            into.push_back(toml_text(value.text));
        lines.push_back(
            fmt::format("{}: name = {}, value = {}", place, toml_text(name.text), fmt::join(into, " or ")));
    }
}

// A bug of a published release fetches packages and runs the program beside it.
template <class Settings>
void add_release(std::string_view workload, const Settings& settings, std::vector<std::string>& lines) {
    if (workload != scenarios::release_workload) return;
    for (const auto& [name, setting] : settings)
        for (const scenarios::Value& value : values_of(settings, name))
            if (!value.text.empty())
                lines.push_back(fmt::format("[release]: {} = {}", name, toml_text(value.text)));
}

template <class Faults>
void add_faults(const Faults& faults, std::vector<std::string>& lines) {
    for (std::size_t i = 0; i < faults.size(); ++i)
        add_fault(fmt::format("[[fault]] {} ({})", i + 1, faults[i].kind), faults[i].parameters, lines);
}

}  // namespace

void add_trust(CLI::App& command, bool& trust) {
    command.add_flag("--trust", trust,
                     "Play files of other people on real processes even if they set PATH, PYTHONPATH, "
                     "LD_PRELOAD and the like, or a command; SECURITY.md has what they may do otherwise");
}

std::vector<std::string> list_code_settings(const scenarios::Scenario& scenario) {
    std::vector<std::string> lines;
    add_cluster("[cluster]", scenario.cluster, lines);
    add_release(scenario.workload_kind, scenario.workload, lines);
    add_faults(scenario.faults, lines);
    add_cluster("[heal.cluster]", scenario.heal.cluster, lines);
    for (std::size_t i = 0; i < scenario.heal.faults.size() && i < scenario.faults.size(); ++i) {
        scenarios::Settings changed = scenario.faults[i].parameters;
        for (const auto& [name, setting] : scenario.heal.faults[i].parameters) changed[name] = setting;
        if (!scenario.heal.faults[i].parameters.empty())
            add_fault(fmt::format("[heal] of fault {}", i + 1), changed, lines);
    }
    return lines;
}

std::vector<std::string> list_code_settings(const scenarios::Plan& plan) {
    std::vector<std::string> lines;
    add_cluster("[cluster]", plan.cluster, lines);
    add_release(plan.workload_kind, plan.workload, lines);
    add_faults(plan.faults, lines);
    return lines;
}

std::vector<std::string> list_code_settings(const Manifest& manifest) {
    std::vector<std::string> lines = {"[start]: command = " + scenarios::toml_list(manifest.command)};
    add_variables("[start] environment", manifest.environment, lines);
    return lines;
}

bool is_shipped(const Library& library, const fs::path& file) {
    if (library.shipped.empty()) return false;
    std::error_code trouble;
    const fs::path place = fs::weakly_canonical(file, trouble);
    const fs::path below = place.lexically_relative(fs::weakly_canonical(library.shipped, trouble));
    return !trouble && !below.empty() && *below.begin() != "..";
}

scenarios::Result<void> refuse_code(const std::string& file, const std::vector<std::string>& settings) {
    if (settings.empty()) return {};
    return scenarios::refuse(
        scenarios::ErrorCode::usage,
        fmt::format("{} decides which code real processes run here:\n  {}\n  nothing was "
                    "started",
                    scenarios::in_one_line(file), fmt::join(settings, "\n  ")),
        "read these lines, and add --trust to play it all the same");
}

scenarios::Result<void> check_trust(const Library& library,
                                    const std::vector<scenarios::Scenario>& scenarios) {
    for (const scenarios::Scenario& scenario : scenarios) {
        if (is_shipped(library, scenario.file)) continue;
        if (auto trusted = refuse_code(scenario.file.string(), list_code_settings(scenario)); !trusted)
            return trusted;
    }
    return {};
}

}  // namespace deadrank::runners::commands
