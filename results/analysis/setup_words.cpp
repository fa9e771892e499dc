// results/analysis/setup_words.cpp — What the words of a failed set-up tell of its cause.
#include "results/analysis/setup_words.h"

#include <charconv>
#include <set>

#include "results/analysis/complaints.h"
#include "results/analysis/lives.h"
#include "results/analysis/phrases.h"
#include "results/record/words.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::results::analysis {

using scenarios::Cause;

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
    if (shows(text, Sign::address_taken)) return "MASTER_PORT";
    if (shows(text, Sign::name_unresolved)) return "MASTER_ADDR";
    return {};
}

std::string find_setup_component(std::string_view text) {
    return shows(text, Sign::driver_too_old) ? "driver" : std::string();
}

std::string_view find_awaited_key(std::string_view text) {
    if (!shows(text, Sign::key_awaited)) return {};
    return behind(text, ", keys: ", '\n');
}

// "(node1, 29500)": the port is behind the last comma, for a host that was put together wrongly may hold one.
std::string_view find_store_host(std::string_view text) {
    const std::string_view both = behind(text, "trying to connect to (", ')');
    return both.substr(0, both.rfind(','));
}

std::int64_t count_joined_clients(std::string_view text) {
    const std::string_view rest = find_sign(text, Sign::clients_joined);
    const std::size_t end = text.size() - rest.size();
    if (rest.empty() || end < 2) return -1;
    const auto begin = text.rfind(' ', end - 2) + 1;
    std::int64_t joined = 0;
    std::from_chars(text.data() + begin, text.data() + end, joined);
    return joined;
}

std::vector<Rank> find_ranks_on_one_device(std::string_view text) {
    const std::string_view rest = find_sign(text, Sign::device_twice);
    return results::numbers_in(rest.substr(0, rest.find(" both on")));
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
    if (!find_setup_component(text).empty()) return {id_of(Cause::dependency_or_hardware_mismatch)};
    if (shows(text, Sign::device_refused))
        return {id_of(Cause::rank_or_device_derivation_error),
                id_of(Cause::misconfigured_environment_variable)};
    if (names_its_variable(text) && shows(text, Sign::variable_absent))
        return {id_of(Cause::misconfigured_environment_variable), id_of(Cause::misused_framework_api)};
    if (shows(text, Sign::never_initialized)) return {id_of(Cause::misused_framework_api)};
    if (shows(text, Sign::device_twice) || shows(text, Sign::device_shared))
        return {id_of(Cause::rank_or_device_derivation_error)};
    if (has_any(text, {"interface"})) return {id_of(Cause::misconfigured_environment_variable)};
    if (own && has_any(text, {"NCCL"}))
        return {id_of(Cause::dependency_or_hardware_mismatch),
                id_of(Cause::misconfigured_environment_variable)};
    return {id_of(Cause::rendezvous_store_or_endpoint_error),
            id_of(Cause::misconfigured_environment_variable), id_of(Cause::rank_or_device_derivation_error)};
}

}  // namespace deadrank::results::analysis
