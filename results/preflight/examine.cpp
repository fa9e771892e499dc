// results/preflight/examine.cpp — The rules, one per line, in the order of their remarks.
#include "results/preflight/examine.h"

#include <algorithm>
#include <charconv>

#include "results/preflight/checks.h"

namespace deadrank::results::preflight {

const std::vector<Rule>& rules() {
    // clang-format off
    static const std::vector<Rule> all = {
        {"launch_variable", "what a launcher sets is there, readable, and fits", check_launch_variables},
        {"rank_order", "ranks follow the hosts in the order that the local ranks say", check_rank_order},
        {"variable_value", "a variable holds what its reader understands", check_values},
        {"variable_name", "no name is one or two letters away from a real one", check_names},
        {"variable_drift", "what all ranks must share is the same on all", check_drift},
        {"endless_wait", "something ends a collective that would never end", check_endless_waits},
        {"interface", "the interface chosen exists, is up, and leads to other hosts", check_interfaces},
        {"master", "MASTER_ADDR has an address that all hosts reach, and its port is free", check_master},
        {"device", "each local rank has a device of its own", check_devices},
        {"limit", "shared memory and open files suffice", check_limits},
        {"version_skew", "all ranks run the same versions", check_version_skew},
        {"version_need", "versions within one process go together", check_version_needs},
        {"nightly", "what the others build on is a release", check_nightlies},
    };
    // clang-format on
    return all;
}

std::vector<Remark> examine(const Job& job, const Knowledge& knowledge) {
    std::vector<Remark> remarks;
    for (const Rule& rule : rules()) {
        const std::size_t before = remarks.size();
        rule.examine(job, knowledge, remarks);
        for (std::size_t i = before; i < remarks.size(); ++i) remarks[i].rule = rule.name;
    }
    return remarks;
}

bool is_distributed(const Job& job) {
    return std::any_of(job.begin(), job.end(), [](const Snapshot& one) {
        return one.has("RANK") || one.has("WORLD_SIZE") || one.has("LOCAL_RANK");
    });
}

std::optional<std::int64_t> integer_in(std::string_view text) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
}

std::optional<Split> split_of(const Job& job, std::string_view name,
                              std::map<std::string, std::string, std::less<>> Snapshot::*table) {
    std::map<std::optional<std::string>, std::vector<std::size_t>> groups;
    for (std::size_t i = 0; i < job.size(); ++i) {
        const auto found = (job[i].*table).find(name);
        const bool there = found != (job[i].*table).end();
        groups[there ? std::optional(found->second) : std::nullopt].push_back(i);
    }
    if (groups.size() < 2) return std::nullopt;
    // The usual value is the most frequent one; in a tie, no value at all, or else that of the first process.
    auto usual = groups.begin();
    for (auto at = groups.begin(); at != groups.end(); ++at) {
        const bool more = at->second.size() > usual->second.size();
        const bool first = at->second.size() == usual->second.size() && usual->first &&
                           at->second.front() < usual->second.front();
        if (more || first) usual = at;
    }
    Split split;
    split.usual_value = usual->first.value_or("nothing");
    for (auto at = groups.begin(); at != groups.end(); ++at) {
        if (at == usual) continue;
        split.odd.insert(split.odd.end(), at->second.begin(), at->second.end());
        if (split.odd_value.empty()) split.odd_value = at->first.value_or("nothing");
    }
    std::sort(split.odd.begin(), split.odd.end());
    return split;
}

}  // namespace deadrank::results::preflight
