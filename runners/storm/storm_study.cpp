// runners/storm/storm_study.cpp — Each incident's scenario is put onto the storm's cluster and played
// there; after it the job restarts from its last checkpoint.
#include "runners/storm/storm_study.h"

#include <algorithm>
#include <optional>

namespace deadrank::runners {

namespace {

using results::Time;
using scenarios::Scenario;
using scenarios::Storm;

std::vector<const Scenario*> scenarios_of(const Storm& storm, const std::string& row,
                                          const std::vector<Scenario>& catalog) {
    std::vector<const Scenario*> found;
    for (const std::string& name : storm.scenarios.at(row)) {
        for (const Scenario& scenario : catalog) {
            if (scenario.id.substr(scenario.id.find('/') + 1) == name) found.push_back(&scenario);
        }
    }
    return found;
}

scenarios::Setting concrete(std::int64_t number) {
    scenarios::Setting setting;
    setting.options.push_back({.type = scenarios::ValueType::integer, .number = number});
    return setting;
}

// The scenario on the storm's cluster.
Scenario at_scale(const Scenario& scenario, const Storm& storm) {
    Scenario large = scenario;
    large.cluster["nodes"] = concrete(storm.nodes);
    large.cluster["gpus_per_node"] = concrete(storm.gpus_per_node);
    large.cluster.erase("ranks");
    return large;
}

class Striking {
public:
    Striking(const Storm& storm, const std::vector<Scenario>& catalog,
             const scenarios::Vocabulary& vocabulary, std::atomic<bool>* stop)
        : storm_(storm), catalog_(catalog), vocabulary_(vocabulary) {
        line_.stop = stop;
        line_.healed = false;
    }

    StruckIncident strike(const scenarios::Incident& incident, Runner& runner) const {
        StruckIncident struck{.incident = incident, .scenario = {}, .trouble = {}};
        const auto choices = scenarios_of(storm_, incident.row, catalog_);
        if (choices.empty()) {
            struck.trouble = "no scenario of the catalogue covers this row";
            return struck;
        }
        const Scenario& scenario = *choices[incident.scenario % choices.size()];
        struck.scenario = scenario.id;
        const Trialled trial = play(at_scale(scenario, storm_), {incident.seed}, runner, vocabulary_, line_);
        if (!trial.fault || !trial.control || !trial.outcome.fault) {
            struck.trouble = trial.outcome.reason;
            return struck;
        }
        judge(struck, trial);
        return struck;
    }

private:
    void judge(StruckIncident& struck, const Trialled& trial) const {
        const results::Judgement& judgement = *trial.outcome.fault;
        if (judgement.fault_at == results::never) {
            struck.trouble = judgement.reason;
            return;
        }
        struck.named = judgement.answer >= 0 && judgement.verdict == results::Verdict::pass;
        struck.false_alarms = trial.control->findings.size();
        Time first = results::never;
        for (const results::Finding& finding : trial.fault->findings) first = std::min(first, finding.at);
        struck.detected = first != results::never;
        struck.to_detect =
            struck.detected ? std::max(Time{0}, first - judgement.fault_at) : Time{storm_.unnoticed};
        struck.lost = Time{struck.incident.since_checkpoint} + struck.to_detect + Time{storm_.restart};
    }

    const Storm& storm_;
    const std::vector<Scenario>& catalog_;
    const scenarios::Vocabulary& vocabulary_;
    PipelineOptions line_;
};

void add_to(StormRow& row, const StruckIncident& one) {
    ++row.struck;
    if (!one.trouble.empty()) return;
    ++row.played;
    row.detected += one.detected;
    row.named += one.named;
    row.false_alarms += one.false_alarms;
    row.lost += one.lost;
    if (one.detected) row.to_detect.push_back(one.to_detect);
}

}  // namespace

void StormCard::add(StruckIncident one) {
    add_to(all, one);
    add_to(rows[one.incident.row], one);
    incidents.push_back(std::move(one));
}

StormCard play_storm(const Storm& storm, std::uint64_t seed, const std::vector<Scenario>& catalog,
                     const scenarios::Vocabulary& vocabulary, const MakeRunner& make_runner,
                     const StormOptions& options) {
    const Striking striking(storm, catalog, vocabulary, options.stop);
    const auto incidents = scenarios::draw_incidents(storm, seed);
    std::vector<std::optional<StruckIncident>> struck(incidents.size());
    const auto stopped = [&] { return options.stop && options.stop->load(); };
    const Workers workers{make_runner, options.threads, options.stop, options.progress};
    for_each_index(incidents.size(), workers, [&](std::size_t i, Runner& runner) {
        StruckIncident one = striking.strike(incidents[i], runner);
        if (!stopped()) struck[i] = std::move(one);
    });
    StormCard card;
    card.stopped = stopped();
    for (auto& one : struck) {
        if (one) card.add(std::move(*one));
    }
    return card;
}

}  // namespace deadrank::runners
