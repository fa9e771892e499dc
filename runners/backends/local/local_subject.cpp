// runners/backends/local/local_subject.cpp — Translates the settings of a simulated workload into a real
// program's command line.
#include "runners/backends/local/local_subject.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

#include "scenarios/model/text.h"

namespace deadrank::runners {

using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Value;
using scenarios::ValueType;

namespace {

std::int64_t number(const scenarios::Plan& plan, const std::string& name, std::int64_t otherwise) {
    const auto found = plan.workload.find(name);
    return found == plan.workload.end() ? otherwise : found->second.number;
}

// Durations in seconds and ratios as fractions, as programs expect them.
std::string argument_text(const Value& value) {
    switch (value.type) {
        case ValueType::duration:
            return fmt::format("{:.6f}", static_cast<double>(value.number) / 1e9);
        case ValueType::ratio:
            return fmt::format("{:.9f}", static_cast<double>(value.number) / 1e9);
        case ValueType::factor:
            return fmt::format("{:.3f}", static_cast<double>(value.number) / 1e3);
        case ValueType::text:
        case ValueType::choice:
            return value.text;
        default:
            return std::to_string(value.number);
    }
}

void replace_all(std::string& text, std::string_view word, const std::string& by) {
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + by.size()))
        text.replace(at, word.size(), by);
}

void add_words(std::vector<std::string>& command, std::string_view words) {
    for (const std::string_view word : scenarios::parts_of(words, ' ')) {
        if (!word.empty()) command.emplace_back(word);
    }
}

void add_argument(std::vector<std::string>& command, const Argument& argument, const Value& value) {
    const std::string text = argument_text(value);
    const auto by = argument.by_value.find(text);
    std::string words = by == argument.by_value.end() ? argument.words : by->second;
    replace_all(words, "{}", text);
    add_words(command, words);
}

// "modulo tp_size", "block pp_size": which ranks hold the same parameters.
std::string group_of(const std::string& groups, const scenarios::Plan& plan, std::int64_t rank) {
    if (groups == "each") return fmt::format("rank{}", rank);
    const std::size_t space = groups.find(' ');
    if (space == std::string::npos) return "replica";
    const std::int64_t parts = std::max<std::int64_t>(1, number(plan, groups.substr(space + 1), 2));
    if (groups.starts_with("modulo")) return fmt::format("dp{}", rank % parts);
    return fmt::format("dp{}", rank / std::max<std::int64_t>(1, plan.world_size() / parts));
}

bool listed_in(const std::vector<std::string>& list, const std::string& word) {
    return std::find(list.begin(), list.end(), word) != list.end();
}

// "2.11.0" against "2.6": number by number.
bool at_least(std::string_view version, std::string_view least) {
    while (!least.empty()) {
        int have = 0, want = 0;
        const auto read = [](std::string_view& text, int& part) {
            const auto end = std::from_chars(text.data(), text.data() + text.size(), part).ptr;
            text.remove_prefix(static_cast<std::size_t>(end - text.data()));
            if (!text.empty()) text.remove_prefix(1);
        };
        read(version, have);
        read(least, want);
        if (have != want) return have > want;
    }
    return true;
}

}  // namespace

scenarios::Result<Manifest> usual_subject(const scenarios::Plan& plan) {
    auto shipped = shipped_subjects();
    if (!shipped) return tl::unexpected(shipped.error());
    for (Manifest& one : *shipped) {
        if (listed_in(one.usual, plan.workload_kind)) return std::move(one);
    }
    return refuse(ErrorCode::unsupported,
                  fmt::format("no subject of ours plays the workload '{}' for real", plan.workload_kind),
                  "play this scenario with --runner sim, or name a subject of yours with --subject");
}

scenarios::Result<Subject> subject_for(const scenarios::Plan& plan, const Manifest& manifest,
                                       const Places& places) {
    if (!manifest.plays.empty() && !listed_in(manifest.plays, plan.workload_kind)) {
        return refuse(
            ErrorCode::unsupported,
            fmt::format("the subject {} does not play the workload '{}'", manifest.name, plan.workload_kind),
            "choose another --subject, or add it to plays in " + manifest.name + ".toml");
    }
    for (const auto& [name, most] : manifest.at_most) {
        if (number(plan, name, 0) <= most) continue;
        return refuse(ErrorCode::unsupported,
                      fmt::format("the subject {} has no {} above {}", manifest.name, name, most),
                      "choose another --subject, or play this scenario with --runner sim");
    }
    Subject subject;
    for (std::string word : manifest.command) {
        replace_all(word, "{here}", manifest.directory.string());
        replace_all(word, "{python}", places.python);
        replace_all(word, "{ranks}", std::to_string(plan.world_size()));
        replace_all(word, "{timeout}",
                    fmt::format("{:.3f}", static_cast<double>(places.timeout.count()) / 1e9));
        replace_all(word, "{checkpoints}", places.checkpoints.string());
        subject.command.push_back(std::move(word));
    }
    for (const auto& [name, argument] : manifest.arguments) {
        const auto value = plan.workload.find(name);
        if (value != plan.workload.end()) add_argument(subject.command, argument, value->second);
    }
    std::string& first = subject.command.front();
    subject.script = first.ends_with(".py");
    // A script is looked for beside its manifest, a program on PATH.
    if (subject.script && manifest.starts == Starts::ranks && std::filesystem::path(first).is_relative())
        first = (manifest.directory / first).string();
    subject.seams = manifest.seams;
    subject.samples = manifest.samples;
    for (std::int64_t rank = 0; rank < plan.world_size() && !manifest.groups.empty(); ++rank)
        subject.groups.push_back(group_of(manifest.groups, plan, rank));
    return subject;
}

scenarios::Result<void> check_needs(const Manifest& manifest, const Python& python) {
    for (const Needed& needed : manifest.needs) {
        const std::string version = version_of(python, needed.module);
        if (!version.empty() && at_least(version, needed.at_least)) continue;
        const std::string there = version.empty() ? "which is not there" : "and there is " + version;
        return refuse(
            ErrorCode::environment,
            fmt::format("the subject {} needs {}{}, {}", manifest.name, needed.module,
                        needed.at_least.empty() ? "" : " " + needed.at_least, there),
            fmt::format("install it for {}, or run `./dev tools --frameworks`", python.program.string()));
    }
    return {};
}

}  // namespace deadrank::runners
