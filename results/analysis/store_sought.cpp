// results/analysis/store_sought.cpp — Compares the words of a rank that found no store with the hosts of the
// job, and with what the rank was started with.
#include "results/analysis/store_sought.h"

#include <optional>

#include "results/analysis/calls.h"
#include "results/analysis/pairs.h"
#include "results/analysis/setup_words.h"

namespace deadrank::results::analysis {

namespace {

std::optional<std::string_view> value_of(const Evidence& evidence, const Complaint& complaint,
                                         std::string_view name) {
    return PairTables(evidence, complaint.attempt, PairTables::Of::environment).held(complaint.process, name);
}

}  // namespace

Sought classify_store_address(const Evidence& evidence, int attempt, std::string_view text) {
    const std::string_view host = find_store_host(text);
    if (host.empty()) return Sought::unknown;
    const Rank first = evidence.facts<Calls>().process_of(attempt, 0);
    std::string_view own;
    bool known = false;
    for (const Event* start : evidence.each<RankStart>()) {
        const std::string_view name = evidence.text(start->as<RankStart>()->host);
        if (start->rank == first) own = name;
        known |= name == host;
    }
    if (own.empty()) return Sought::unknown;
    if (!known) return Sought::at_none;
    return own == host ? Sought::at_rank_0 : Sought::at_another;
}

bool has_value_in_text(const Evidence& evidence, const Complaint& complaint, std::string_view name) {
    const auto held = value_of(evidence, complaint, name);
    return held && !held->empty() && complaint.text.find(*held) != std::string_view::npos;
}

bool has_variable(const Evidence& evidence, const Complaint& complaint, std::string_view name) {
    return value_of(evidence, complaint, name).has_value();
}

Rank find_host_of_lost_store(const Evidence& evidence, int attempt, std::string_view text, Time told) {
    if (!is_store_loss(text)) return no_rank;
    const Rank host = evidence.facts<Calls>().process_of(attempt, 0);
    const Life* life = evidence.facts<Lives>().find(attempt, host);
    return life && life->ended <= told + std::chrono::milliseconds(500) ? host : no_rank;
}

}  // namespace deadrank::results::analysis
