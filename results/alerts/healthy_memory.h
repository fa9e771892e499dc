// results/alerts/healthy_memory.h — Which rules an incident can change. For all others the answer of the
// healthy run is reused.
#pragma once

#include <string>
#include <vector>

#include "results/alerts/series_matcher.h"
#include "results/alerts/study.h"

namespace deadrank::results::alerts {

// A selector, and what of its series counts for the rule. `existence`: only whether there are samples. So
// count(x) and absent(x) do not change with the values of x, but count(x > 1) does.
struct Sight {
    Selector selector;
    bool existence = false;
};

// What one rule sees. Whether an alert fires depends on whether its expression has a value, whichever it is;
// of a recording rule others may read the value (`sights`), or only whether there is one (`of_existence`).
struct RuleSights {
    std::vector<Sight> sights, of_existence;
    bool by_metric = false;  // what it says about one metric depends on the series of that metric alone
};

RuleSights sights_of(const Rule& rule, const RuleReads& reads);

// What an incident can change, by rule.
struct Reach {
    std::vector<bool> rules;  // it changes what the rule sees, directly or through another rule
    OnlyMetrics only;         // for rules that tell each metric by itself: those that it changes
};

Reach reached_by(const std::vector<exporters::Changed>& changes, const std::vector<RuleSights>& sights,
                 const std::vector<Rule>& rules);

// Can an ALERTS series of this alert match the selector? Labels that its expression gives are not known.
bool may_show(const Rule& alert, const Selector& selector);

// The alerts whose state these rules read.
std::vector<bool> shown_to(const std::vector<bool>& readers, const std::vector<Rule>& rules,
                           const StaticAnalysis& analysis);

// Adds the alerts whose state the asked rules read, and so on.
std::vector<bool> with_shown(std::vector<bool> asked, const std::vector<Rule>& rules,
                             const StaticAnalysis& analysis);

// The answer of the healthy run, reused for every rule that an incident does not reach.
class HealthyMemory {
public:
    // What the incident reaches of these rules: all of them, unless their healthy run was kept.
    Reach reached(const exporters::World& world, const exporters::Incident& incident,
                  const std::vector<Rule>& rules) const;

    // Alerts that can be left out of the rule files, since their healthy answer holds and no other asked rule
    // reads their state.
    std::vector<bool> unmoved(const exporters::World& world, const exporters::Incident& incident,
                              const std::vector<Rule>& rules, const StaticAnalysis& analysis) const;

    void keep(const exporters::Incident& incident, const std::vector<Rule>& rules,
              const StaticAnalysis& analysis, const PlayerAnswer& played);
    const Activity& activity() const { return played_.activity; }
    bool knows(const std::vector<Rule>& rules) const { return rules_ == &rules; }

private:
    PlayerAnswer played_;
    const std::vector<Rule>* rules_ = nullptr;
    std::vector<RuleSights> sights_;
};

}  // namespace deadrank::results::alerts
