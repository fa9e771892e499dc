// runners/backends/local/check_plan.cpp — Lists what the hook finds in any program, and checks each setting
// that differs from its default.
#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "runners/backends/local/arming.h"
#include "runners/extension/extension.h"
#include "scenarios/model/kind_ids.h"

namespace deadrank::runners {

using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Value;

namespace {

constexpr const char* use_simulator = "play this scenario with --runner sim";

// Same as EVERYWHERE in hook/deadrank_hook/seams.py.
constexpr std::array<std::string_view, 8> everywhere = {
    "optimizer.learning_rate", "optimizer.base_rate", "model.seed",     "sampler.shard", "sampler.seed",
    "sampler.replicas",        "sampler.batch",       "optimizer.step",
};

// Moments at which a hook is called, besides the program's values and blocks.
constexpr std::array<std::string_view, 19> moments = {
    "all_reduce",      "broadcast",     "reduce",    "all_gather",
    "reduce_scatter",  "all_to_all",    "gather",    "scatter",
    "barrier",         "send",          "recv",      "collective",
    "message",         "communication", "comm_init", "checkpoint_save",
    "checkpoint_load", "step",          "phase",
};

// Settings that a program may lack: they say how long to wait or what to log, not what is trained.
constexpr std::array<std::string_view, 2> of_no_matter = {"store_timeout", "log_values"};

template <std::size_t N>
bool among(const std::array<std::string_view, N>& words, std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

bool is_usual(const scenarios::Parameter& parameter, const Value& value) {
    if (parameter.fallback.empty()) return false;  // no default: it was stated
    const auto usual = scenarios::parse_value(parameter.type, parameter.fallback);
    return usual && usual->number == value.number && usual->text == value.text;
}

// A program may know only some words of a choice.
bool lacks_word(const Argument& argument, const Value& value) {
    return value.type == scenarios::ValueType::choice && !argument.by_value.empty() &&
           argument.by_value.count(value.text) == 0;
}

scenarios::Result<void> check_settings(const scenarios::Plan& plan, const Manifest& manifest) {
    const scenarios::Vocabulary words = vocabulary();
    const scenarios::Kind* kind = words.workload(plan.workload_kind);
    if (!kind) return {};
    for (const auto& setting : plan.workload) {
        const auto& [name, value] = setting;
        if (takes_setting(manifest, name, value)) continue;
        const auto known = std::find_if(kind->parameters.begin(), kind->parameters.end(),
                                        [&](const auto& one) { return one.name == setting.first; });
        if (known == kind->parameters.end() || is_usual(*known, value)) continue;
        if (known->optional && !known->choices.empty() && value.text == known->choices.front()) continue;
        return refuse(ErrorCode::unsupported,
                      fmt::format("the program played for real has no setting '{}'", name), use_simulator);
    }
    return {};
}

scenarios::Result<void> check_variables(const scenarios::Plan& plan) {
    for (const scenarios::FaultSpec& fault : plan.faults) {
        if (fault.kind != scenarios::FaultId::set_env && fault.kind != scenarios::FaultId::unset_env)
            continue;
        const std::string name = fault.text("name");
        if (!name.starts_with("NCCL_")) continue;
        return refuse(ErrorCode::unsupported,
                      fmt::format("real processes talk over gloo, and nothing reads '{}'", name),
                      use_simulator);
    }
    return {};
}

// A broken package matters only if it is imported.
scenarios::Result<void> check_packages(const scenarios::Plan& plan, const Manifest& manifest) {
    for (const scenarios::FaultSpec& fault : plan.faults) {
        if (fault.kind != scenarios::FaultId::break_package) continue;
        const std::string package = fault.text("package");
        if (std::any_of(manifest.needs.begin(), manifest.needs.end(),
                        [&](const Needed& needed) { return needed.module == package; }))
            continue;
        return refuse(ErrorCode::unsupported,
                      fmt::format("the program played for real does not import '{}'", package),
                      use_simulator);
    }
    return {};
}

// The marker of the latest checkpoint is a text file that programs write without torch, unseen by the hook.
scenarios::Result<void> check_files(const scenarios::Plan& plan) {
    for (const scenarios::FaultSpec& fault : plan.faults) {
        const std::string path = fault.text("path");
        if (path.find("latest") == std::string::npos) continue;
        return refuse(ErrorCode::unsupported,
                      fmt::format("the hook does not see the file '{}', which torch does not write", path),
                      use_simulator);
    }
    return {};
}

}  // namespace

bool takes_setting(const Manifest& manifest, const std::string& name, const Value& value) {
    if (among(of_no_matter, name)) return true;
    const auto argument = manifest.arguments.find(name);
    return argument != manifest.arguments.end() && !lacks_word(argument->second, value);
}

bool shows(const Subject& subject, std::string_view name) {
    return among(everywhere, name) || subject.seams.count(std::string(name)) > 0;
}

scenarios::Result<void> check_shown(const std::vector<HookPull>& pulls, const Subject& subject) {
    for (const HookPull& pull : pulls) {
        const auto details = nlohmann::json::parse(pull.json);
        for (const char* what : {"seam", "block"}) {
            const std::string name = details.value(what, "");
            if (name.empty() || shows(subject, name)) continue;
            return refuse(ErrorCode::unsupported,
                          fmt::format("the program played for real shows no {} '{}'",
                                      what == std::string_view("seam") ? "value" : "block", name),
                          "add it below [read.seams] of its manifest, or play with --runner sim");
        }
    }
    return {};
}

scenarios::Result<void> check_moment(const scenarios::Trigger& when, const Subject& subject) {
    if (when.before.empty() || among(moments, when.before) || shows(subject, when.before)) return {};
    return refuse(ErrorCode::unsupported,
                  fmt::format("a hook cannot observe '{}' in a real process", when.before), use_simulator);
}

scenarios::Result<void> check_plan_applies(const scenarios::Plan& plan, const Manifest& manifest) {
    if (auto settings = check_settings(plan, manifest); !settings) return settings;
    if (auto variables = check_variables(plan); !variables) return variables;
    if (auto packages = check_packages(plan, manifest); !packages) return packages;
    return check_files(plan);
}

}  // namespace deadrank::runners
