// results/diagnosis/environment_clues.cpp — What processes were started with: versions, variables, settings,
// packages, addresses.
#include <cctype>
#include <fmt/format.h>
#include <map>
#include <set>

#include "results/analysis/complaints.h"
#include "results/analysis/error_quote.h"
#include "results/analysis/findings.h"
#include "results/analysis/pairs.h"
#include "results/analysis/phrases.h"
#include "results/analysis/variables.h"
#include "results/diagnosis/clue.h"
#include "results/record/event_names.h"
#include "results/record/words.h"

namespace deadrank::results::diagnosis {

using namespace analysis;

namespace {

std::string told(const Difference& difference) {
    return fmt::format(
        "{} of {} is {}, elsewhere {}", difference.name, ranks_text(difference.odd),
        difference.odd_has_none ? "absent" : fmt::format("'{}'", difference.odd_value),
        difference.usual_value.empty() ? "absent" : fmt::format("'{}'", difference.usual_value));
}

void versions(const PairTables& tables, Clues& clues) {
    for (const std::string_view name : tables.names()) {
        if (const auto found = difference_in(tables, name)) {
            clues.push_back({"version_differs", told(*found)});
            return;
        }
    }
}

// Versions that an attempt was started with and the one before it was not.
void versions_since(const Evidence& evidence, int attempt, Clues& clues) {
    if (attempt < 1) return;
    const auto change = change_between({evidence, attempt - 1, PairTables::Of::versions},
                                       {evidence, attempt, PairTables::Of::versions});
    if (!change) return;
    clues.push_back({"version_changed_at_restart",
                     fmt::format("{} was {} before the restart and is {} after it", change->name,
                                 change->before.empty() ? "absent" : change->before, change->after)});
}

void variables(const PairTables& tables, Clues& clues) {
    for (const std::string_view name : tables.names()) {
        const Variable* known = known_variable(name);
        if (known && known->differs_by_right) continue;
        if (const auto found = difference_in(tables, name)) {
            clues.push_back({"variable_differs", told(*found)});
            return;
        }
    }
}

bool is_variable(std::string_view name) {
    bool any = false;
    for (const char c : name) {
        if (std::islower(static_cast<unsigned char>(c))) return false;
        any |= std::isupper(static_cast<unsigned char>(c)) != 0;
    }
    return any;
}

// rank.config: one value per rank and name, without "rank", which differs by design.
void settings(const Evidence& evidence, Clues& clues) {
    std::map<std::string_view, std::map<std::string_view, std::set<Rank>>> by_name;
    for (const Event* event : evidence.each<RankConfig>()) {
        const auto* config = event->as<RankConfig>();
        if (evidence.text(config->name) != ConfigName::rank)
            by_name[evidence.text(config->name)][evidence.text(config->value)].insert(event->rank);
    }
    for (const auto& [name, values] : by_name) {
        if (values.size() < 2) continue;
        const std::string_view id = name == ConfigName::seed ? "seeds_differ" : "setting_differs";
        clues.push_back({id, fmt::format("{} is {} on some ranks and {} on others", name,
                                         values.begin()->first, values.rbegin()->first)});
        return;
    }
}

void packages(const Evidence& evidence, Clues& clues) {
    const Event* first = nullptr;
    std::set<Rank> failed;
    for (const Event* event : evidence.each<PackageLoad>()) {
        if (event->as<PackageLoad>()->result == Code::ok) continue;
        if (!first) first = event;
        failed.insert(event->rank);
    }
    if (!first) return;
    const auto* load = first->as<PackageLoad>();
    clues.push_back(
        {"package_failed", fmt::format("{} {}: {}", evidence.text(load->name), evidence.text(load->version),
                                       evidence.text(load->problem))});
    const auto all = static_cast<std::size_t>(evidence.world_size());
    if (failed.size() < all) {
        clues.push_back(
            {"package_failed_on_some", fmt::format("{} of {} ranks could not load it", failed.size(), all)});
    }
}

constexpr std::pair<Sign, std::string_view> clue_by_sign[] = {{Sign::variable_absent, "variable_absent"},
                                                              {Sign::address_taken, "endpoint_refused"},
                                                              {Sign::name_unresolved, "endpoint_refused"},
                                                              {Sign::device_refused, "device_refused"},
                                                              {Sign::unroutable, "interface_unroutable"}};

// Each clue once, of the first rank that speaks of it.
void complaints(const Evidence& evidence, Clues& clues) {
    std::set<std::string_view> seen;
    for (const Complaint& complaint : evidence.facts<Complaints>().all()) {
        for (const auto& [sign, clue] : clue_by_sign) {
            if (!shows(complaint.text, sign) || !seen.insert(clue).second) continue;
            clues.push_back({clue, fmt::format("rank {}: {}", complaint.process, quoted(complaint.text))});
        }
    }
}

}  // namespace

void environment_clues(const Evidence& evidence, const Finding& finding, Clues& clues) {
    versions({evidence, 0, PairTables::Of::versions}, clues);
    versions_since(evidence, evidence.facts<Lives>().attempt_at(finding.at), clues);
    variables({evidence, 0, PairTables::Of::environment}, clues);
    if (is_variable(finding.blame.variable))
        clues.push_back({"variable_blamed", fmt::format("the alarm names {}", finding.blame.variable)});
    if (finding.blame.variable == "MASTER_ADDR" || finding.blame.variable == "MASTER_PORT")
        clues.push_back({"endpoint_blamed", fmt::format("{} says where ranks meet", finding.blame.variable)});
    settings(evidence, clues);
    packages(evidence, clues);
    complaints(evidence, clues);
}

}  // namespace deadrank::results::diagnosis
