// results/preflight/check_variables.cpp — Versions that differ or are incompatible, and variables that NCCL
// misreads or ignores.

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

#include "results/analysis/variables.h"
#include "results/preflight/checks.h"
#include "results/record/words.h"

namespace deadrank::results::preflight {

// NCCL reads garbage as 0 and ignores unknown names, both silently: they are reported here.

namespace {

constexpr const char* nccl_source = "NCCL sources, misc/param.cc: strtoll, and errno is all that is checked";

// strtoll with base 0: decimal, octal, or hexadecimal after 0x, with an optional sign.
bool is_nccl_number(std::string_view text) {
    const std::string copy(text);
    char* end = nullptr;
    std::strtoll(copy.c_str(), &end, 0);
    return !copy.empty() && *end == '\0';
}

// The words of a list such as "^ring,tree" or "allreduce:tree;broadcast:ring".
std::vector<std::string> words_in(std::string_view value) {
    std::vector<std::string> words(1);
    for (const char c : value) {
        if (c == ',' || c == ';') {
            words.emplace_back();
        } else if (c == ':') {
            words.back().clear();  // it was the name of an operation
        } else if (c != '^') {
            words.back() += c;
        }
    }
    return words;
}

// What is wrong with this value; empty when nothing is.
std::string objection_to(const Knowledge& knowledge, std::string_view name, std::string_view value) {
    if (knowledge.integers.contains(name) && !is_nccl_number(value))
        return fmt::format("{}='{}' is not a number: it is read as {}", name, value,
                           std::strtoll(std::string(value).c_str(), nullptr, 0));
    if (const auto known = knowledge.words.find(name); known != knowledge.words.end()) {
        for (const std::string& word : words_in(value)) {
            const bool meant =
                std::any_of(known->second.begin(), known->second.end(),
                            [&](const auto& right) { return lowered(right) == lowered(word); });
            if (!meant)
                return fmt::format("{}='{}': '{}' is none of {}", name, value, word,
                                   fmt::join(known->second, ", "));
        }
    }
    if (name == "NCCL_COMM_ID" && value.find(':') == std::string_view::npos)
        return fmt::format("NCCL_COMM_ID='{}' has no port, and NCCL does not say so", value);
    if (name == "CUDA_VISIBLE_DEVICES") {
        std::set<std::string> seen;
        for (const std::string& device : words_in(value)) {
            if (!seen.insert(device).second)
                return fmt::format("{}='{}' names '{}' twice", name, value, device);
        }
    }
    if (const auto* variable = analysis::known_variable(name);
        variable && variable->holds == analysis::Holds::interface)
        return analysis::objection(*variable, value);
    return {};
}

// One remark per variable, with all processes that have it.
template <class Object>
void object_to_each(const Job& job, Remarks& remarks, Weight weight, const char* source,
                    const Object& object) {
    std::map<std::string, Remark> found;
    for (std::size_t i = 0; i < job.size(); ++i) {
        for (const auto& [name, value] : job[i].environment) {
            const auto [says, remedy] = object(name, value);
            if (says.empty()) continue;
            Remark& remark = found[name];
            remark = {weight, "", std::move(remark.processes), name, says, remedy, source};
            remark.processes.push_back(i);
        }
    }
    for (auto& [name, remark] : found) remarks.push_back(std::move(remark));
}

bool governs(std::string_view name) {
    return name.starts_with("NCCL_") || name.starts_with("TORCH_NCCL_") || name.starts_with("GLOO_") ||
           name == "MASTER_ADDR" || name == "MASTER_PORT" || name == "WORLD_SIZE" ||
           name == "CUDA_DEVICE_MAX_CONNECTIONS" || name == "TORCH_DISTRIBUTED_DEBUG";
}

bool is_off(std::string_view value) { return value == "0" || value == "false" || value == "False"; }

}  // namespace

void check_values(const Job& job, const Knowledge& knowledge, Remarks& remarks) {
    object_to_each(job, remarks, Weight::error, nccl_source,
                   [&](std::string_view name, std::string_view value) {
                       return std::pair(objection_to(knowledge, name, value),
                                        std::string("write what was meant, or unset it"));
                   });
}

void check_names(const Job& job, const Knowledge& knowledge, Remarks& remarks) {
    object_to_each(
        job, remarks, Weight::error, "names in NCCL's and PyTorch's sources; others are ignored silently",
        [&](std::string_view name, std::string_view) {
            const std::string meant = governs(name) || name.starts_with("NCC") ||
                                              name.starts_with("MASTER") || name.starts_with("WORLD")
                                          ? knowledge.classify_complaint(name)
                                          : std::string();
            if (meant.empty()) return std::pair(std::string(), std::string());
            return std::pair(fmt::format("nobody reads {}", name), fmt::format("{} was meant", meant));
        });
}

void check_drift(const Job& job, const Knowledge&, Remarks& remarks) {
    if (job.size() < 2) return;
    std::set<std::string> names;
    for (const Snapshot& one : job) {
        for (const auto& [name, value] : one.environment) {
            const auto* known = analysis::known_variable(name);
            if (governs(name) && !(known && known->differs_by_right)) names.insert(name);
        }
    }
    for (const std::string& name : names) {
        const auto split = split_of(job, name, &Snapshot::environment);
        if (!split) continue;
        remarks.push_back({.weight = Weight::error,
                           .processes = split->odd,
                           .subject = name,
                           .says = fmt::format("{} is {} there and {} elsewhere", name, split->odd_value,
                                               split->usual_value),
                           .remedy = "set it alike on all ranks",
                           .source = "ranks that choose apart wait for each other, without an error"});
    }
}

// NCCL has no time-out of its own: only the framework's watchdog ends a wait.
void check_endless_waits(const Job& job, const Knowledge&, Remarks& remarks) {
    const auto waits = processes_where(job, [](const Snapshot& one) {
        const bool never_aborts = is_off(one.variable("TORCH_NCCL_ASYNC_ERROR_HANDLING"));
        const auto blocking = one.variable("TORCH_NCCL_BLOCKING_WAIT");
        return never_aborts && (blocking.empty() || is_off(blocking));
    });
    if (waits.empty()) return;
    remarks.push_back(
        {.weight = Weight::warning,
         .processes = waits,
         .subject = "TORCH_NCCL_ASYNC_ERROR_HANDLING",
         .says = "TORCH_NCCL_ASYNC_ERROR_HANDLING=0 without TORCH_NCCL_BLOCKING_WAIT=1: a collective "
                 "that never ends is never ended",
         .remedy = "leave it unset, or set TORCH_NCCL_BLOCKING_WAIT=1",
         .source = "PyTorch, environment variables of ProcessGroupNCCL"});
}

// Versions that differ between ranks, and versions that are incompatible within one.

namespace {

const Border* border_between(const Knowledge& knowledge, const std::string& package, std::string_view a,
                             std::string_view b) {
    for (const Border& border : knowledge.borders) {
        const bool apart = (compare_versions(a, border.at) < 0) != (compare_versions(b, border.at) < 0);
        if (border.package == package && apart) return &border;
    }
    return nullptr;
}

}  // namespace

void check_version_skew(const Job& job, const Knowledge& knowledge, Remarks& remarks) {
    if (job.size() < 2) return;
    std::set<std::string> packages;
    for (const Snapshot& one : job) {
        for (const auto& [package, version] : one.versions) packages.insert(package);
    }
    for (const std::string& package : packages) {
        const auto split = split_of(job, package, &Snapshot::versions);
        if (!split) continue;
        const Border* border = border_between(knowledge, package, split->odd_value, split->usual_value);
        std::string says =
            fmt::format("{} is {} there and {} elsewhere", package, split->odd_value, split->usual_value);
        if (border) says += "; one would see " + border->shows;
        remarks.push_back(
            {Weight::error, "", split->odd, package, std::move(says), "install one version on all hosts",
             border ? border->source : "processes that speak one protocol need one version of it"});
    }
}

void check_version_needs(const Job& job, const Knowledge& knowledge, Remarks& remarks) {
    // Rows begin with the newest; the first that applies to a package decides.
    std::map<std::string, Remark> found;  // by its text
    for (std::size_t i = 0; i < job.size(); ++i) {
        std::set<std::pair<std::string, std::string>> decided;
        for (const Need& need : knowledge.needs) {
            const auto package = job[i].versions.find(need.package), other = job[i].versions.find(need.needs);
            if (package == job[i].versions.end() || other == job[i].versions.end()) continue;
            if (compare_versions(package->second, need.from) < 0) continue;
            if (!decided.insert({need.package, need.needs}).second) continue;
            if (compare_versions(other->second, need.least) >= 0) continue;
            std::string says = fmt::format("{} {} needs {} {} or newer; here is {}", need.package,
                                           package->second, need.needs, need.least, other->second);
            Remark& remark = found[says];
            remark.weight = Weight::error;
            remark.processes.push_back(i);
            remark.subject = need.package;
            remark.says = std::move(says);
            remark.remedy = fmt::format("upgrade {}, or use an older {}", need.needs, need.package);
            remark.source = need.source;
        }
    }
    for (auto& [says, remark] : found) remarks.push_back(std::move(remark));
}

// Names, classes of exceptions and defaults change between two releases, and nothing has been tested against
// a nightly yet.
void check_nightlies(const Job& job, const Knowledge&, Remarks& remarks) {
    std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> found;
    for (std::size_t i = 0; i < job.size(); ++i) {
        for (const auto& [package, version] : job[i].versions) {
            if (version.find(".dev") != std::string::npos) found[{package, version}].push_back(i);
        }
    }
    for (auto& [which, processes] : found) {
        remarks.push_back({Weight::warning, "", std::move(processes), which.first,
                           fmt::format("{} {} is a nightly build", which.first, which.second),
                           fmt::format("pin a release of {} that the framework was tested with", which.first),
                           "PEP 440: .devN comes before the release"});
    }
}

}  // namespace deadrank::results::preflight
