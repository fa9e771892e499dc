// results/facts/companies.cpp — Steps divided by who meets whom in calls.
#include "results/facts/companies.h"

#include <map>
#include <utility>

#include "results/facts/meetings.h"

namespace deadrank::results::detectors {

std::vector<std::vector<StepPace>> companies_apart(const Evidence& evidence) {
    const std::vector<StepPace>& steps = evidence.facts<Paces>().steps();
    const Meetings meetings(evidence);
    if (meetings.count() < 2) return {};
    std::map<std::size_t, std::vector<StepPace>> apart;
    for (const StepPace& step : steps) {
        std::map<std::size_t, StepPace> divided;
        for (const Pace& pace : step.ranks) {
            if (!meetings.meets(pace.process)) continue;
            StepPace& own = divided[meetings.of(pace.process)];
            if (own.ranks.empty()) {
                own.attempt = step.attempt;
                own.step = step.step;
                own.first = step.first;
                own.epoch_begins = step.epoch_begins;
            }
            own.ranks.push_back(pace);
            if (pace.process != step.worker) continue;
            own.worker = step.worker;
            own.for_all = step.for_all;
        }
        for (auto& [part, own] : divided) {
            summarize(own);
            apart[part].push_back(std::move(own));
        }
    }
    std::vector<std::vector<StepPace>> all;
    for (auto& [part, own] : apart) all.push_back(std::move(own));
    return all;
}

}  // namespace deadrank::results::detectors
