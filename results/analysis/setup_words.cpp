// results/analysis/setup_words.cpp — What the words of a failed set-up tell of its cause.
#include "results/analysis/setup_words.h"

#include <charconv>
#include <set>

#include "results/analysis/complaints.h"
#include "results/analysis/lives.h"
#include "results/record/words.h"

namespace deadrank::results::analysis {

namespace {

// What stands between these words and that character, or the end.
std::string_view behind(std::string_view text, std::string_view words, char until) {
    const auto at = text.find(words);
    if (at == std::string_view::npos) return {};
    const std::string_view rest = text.substr(at + words.size());
    return rest.substr(0, rest.find(until));
}

std::string variable_named(std::string_view text) {
    const std::string_view named = behind(text, "environment variable ", ' ');
    return named.empty() ? find_missing_variable(text) : std::string(named);
}

}  // namespace

bool names_its_variable(std::string_view text) { return !variable_named(text).empty(); }

std::string find_setup_variable(std::string_view text) {
    if (std::string named = variable_named(text); !named.empty()) return named;
    if (text.find("EADDRINUSE") != std::string_view::npos) return "MASTER_PORT";
    if (text.find("gai error") != std::string_view::npos) return "MASTER_ADDR";
    return {};
}

std::string find_setup_component(std::string_view text) {
    return text.find("driver version") != std::string_view::npos ? "driver" : std::string();
}

std::string_view find_awaited_key(std::string_view text) {
    if (text.find("wait timeout after ") == std::string_view::npos) return {};
    return behind(text, ", keys: ", '\n');
}

// "(node1, 29500)": the port is behind the last comma, for a host that was put together wrongly may hold one.
std::string_view find_store_host(std::string_view text) {
    const std::string_view both = behind(text, "trying to connect to (", ')');
    return both.substr(0, both.rfind(','));
}

std::int64_t count_joined_clients(std::string_view text) {
    const auto end = text.find(" clients joined");
    if (end == std::string_view::npos || end == 0) return -1;
    const auto begin = text.rfind(' ', end - 1) + 1;
    std::int64_t joined = 0;
    std::from_chars(text.data() + begin, text.data() + end, joined);
    return joined;
}

bool refused_by_loopback(std::string_view text) {
    return text.find("Connection refused, remote=[127.") != std::string_view::npos;
}

std::vector<Rank> find_ranks_never_refused(const Evidence& evidence, int attempt) {
    const Lives& lives = evidence.facts<Lives>();
    std::set<Rank> refused;
    for (const Complaint& complaint : evidence.facts<Complaints>().all()) {
        if (complaint.attempt != attempt || !refused_by_loopback(complaint.text)) continue;
        for (const Event* start : evidence.each<RankStart>()) {
            if (start->rank != complaint.process) continue;
            const std::vector<Rank> there = lives.on_node(start->as<RankStart>()->node);
            refused.insert(there.begin(), there.end());
        }
    }
    std::vector<Rank> others;
    for (Rank rank = 0; rank < lives.count(); ++rank) {
        if (!refused.contains(rank)) others.push_back(rank);
    }
    return others;
}

std::vector<std::string> list_setup_causes(std::string_view text, bool own) {
    if (!find_setup_component(text).empty()) return {"dependency_or_hardware_mismatch"};
    if (has_any(text, {"invalid device ordinal"}))
        return {"rank_or_device_derivation_error", "misconfigured_environment_variable"};
    if (names_its_variable(text) && has_any(text, {"expected, but not set"}))
        return {"misconfigured_environment_variable", "misused_framework_api"};
    if (has_any(text, {"has not been initialized"})) return {"misused_framework_api"};
    if (has_any(text, {"Duplicate GPU", "NCCL_MULTI_RANK_GPU_ENABLE=1"}))
        return {"rank_or_device_derivation_error"};
    if (has_any(text, {"interface"})) return {"misconfigured_environment_variable"};
    if (own && has_any(text, {"NCCL"}))
        return {"dependency_or_hardware_mismatch", "misconfigured_environment_variable"};
    return {"rendezvous_store_or_endpoint_error", "misconfigured_environment_variable",
            "rank_or_device_derivation_error"};
}

}  // namespace deadrank::results::analysis
