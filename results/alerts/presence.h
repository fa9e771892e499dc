// results/alerts/presence.h — What has series here, asked of Prometheus, and why a rule that reads nothing of
// it cannot fire.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "results/alerts/static_check.h"
#include "results/external/promtool.h"

namespace deadrank::results::alerts {

// Prometheus' answers about a world in which every series exists that this site may ever show.
struct Presence {
    std::set<std::string> empty;  // selectors, as they are written, that match no series
    std::vector<bool> valueless;  // by rule: it has no value, whatever its thresholds are
    // Labels that a rule's templates name and that its value lacks, by rule.
    std::set<std::pair<std::size_t, std::string>> lost;
    // Thresholds that no value passes which the metric can have, by rule and as thresholds_of() numbers them.
    std::set<std::pair<std::size_t, std::size_t>> beyond;
};

// The files that ask: recording rules without their thresholds, and a test that counts what each selector
// matches. Selectors of recorded metrics are left out where a threshold cannot be taken from the rule.
std::string presence_rules(const std::vector<Rule>& rules);
std::string presence_test(const std::vector<Rule>& rules, const StaticAnalysis& analysis,
                          const Emitted& emitted, const std::string& rules_file);
Presence presence_of(const external::TestAnswer& answer, const std::vector<Rule>& rules,
                     const StaticAnalysis& analysis);

// Asks of each threshold on a metric with bounds whether the metric passes it at its least or at its most.
// Empty where there is none to ask.
std::string reach_test(const StaticAnalysis& analysis, const Emitted& emitted);
void find_unreached(const external::TestAnswer& answer, const StaticAnalysis& analysis,
                    const Emitted& emitted, Presence& presence);

// Marks the rules that cannot fire here, and adds a finding for each selector that matches nothing.
void explain_silence(const std::vector<Rule>& rules, const Presence& presence, const Emitted& emitted,
                     const exporters::World& world, StaticAnalysis& analysis);

}  // namespace deadrank::results::alerts
