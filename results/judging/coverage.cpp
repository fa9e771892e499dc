// results/judging/coverage.cpp — Counted from the files, never typed in.
#include "results/judging/coverage.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>
#include <tuple>

#include "scenarios/model/kind_ids.h"
#include "scenarios/model/python_program.h"

namespace deadrank::results {

namespace {

CoverageAxis axis(std::string name, const std::vector<scenarios::TaxonomyEntry>& entries) {
    CoverageAxis result{std::move(name), {}};
    for (const auto& entry : entries) result.scenarios[entry.id] = 0;
    return result;
}

using Pair = std::pair<std::string, std::string>;

// Says what exists instead: scenarios with the symptom alone, or with the cause alone.
std::string why_missing(const scenarios::SymptomCausePair& pair, const Coverage& coverage) {
    const std::size_t symptom = coverage.symptoms.scenarios.at(pair.symptom);
    const std::size_t cause = coverage.causes.scenarios.at(pair.cause);
    if (symptom == 0 && cause == 0) return "neither has a scenario yet";
    if (symptom == 0) return "the symptom has no scenario yet";
    if (cause == 0) return "the cause has no scenario yet";
    return fmt::format("{} show the symptom and {} have the cause, but none has both", symptom, cause);
}

std::vector<std::string> backends_of(const scenarios::Scenario& scenario) {
    return scenario.backends.empty() ? std::vector<std::string>{"sim"} : scenario.backends;
}

void count_field(Strictness::Field& field, const scenarios::Scenario& scenario, const char* name,
                 bool stated) {
    if (stated)
        ++field.stated;
    else if (scenario.expect.because.contains(name))
        ++field.reasoned;
    else
        field.open.push_back(scenario.id);
}

void count_checks(Strictness& checks, const scenarios::Scenario& scenario) {
    const scenarios::Expectation& expect = scenario.expect;
    count_field(checks.blames, scenario, "blames", !expect.blames.empty());
    count_field(checks.reaction, scenario, "reaction", expect.reaction != scenarios::WantedReaction::any);
    count_field(checks.within, scenario, "within", !expect.because.contains("within"));
    const scenarios::Heal& heal = scenario.heal;
    if (!heal.as_control.empty())
        ++checks.heals_control;
    else if (!heal.workaround.empty())
        ++checks.heals_workaround;
    else if (heal.keeps_a_fault())
        ++checks.heals_keep;
    else if (!heal.is_the_control())
        ++checks.heals_set;
    else
        checks.heals_missing.push_back(scenario.id);
}

void count(Coverage& coverage, const scenarios::Scenario& scenario) {
    count_checks(coverage.checks, scenario);
    const scenarios::Bug& bug = scenario.bug;
    ++coverage.scenarios;
    ++coverage.symptoms.scenarios[bug.symptom];
    ++coverage.causes.scenarios[bug.cause];
    ++coverage.fixes.scenarios[bug.fix];
    ++coverage.stages.scenarios[bug.stage];
    for (const std::string& backend : backends_of(scenario)) ++coverage.backends[backend];
    if (!scenario.expect.unseen.empty()) coverage.unseen.push_back(scenario.id);
    if (bug.replays.empty()) coverage.without_report.push_back(scenario.id);
}

std::vector<CoverageCell> cells_of(const std::vector<scenarios::Scenario>& scenarios) {
    std::map<std::tuple<std::string, std::string, std::string, std::string>, CoverageCell> cells;
    for (const scenarios::Scenario& scenario : scenarios) {
        const scenarios::Bug& bug = scenario.bug;
        CoverageCell& cell = cells[{bug.symptom, bug.cause, bug.stage, bug.fix}];
        cell.symptom = bug.symptom;
        cell.cause = bug.cause;
        cell.stage = bug.stage;
        cell.fix = bug.fix;
        for (const std::string& backend : backends_of(scenario))
            cell.backends[backend].push_back(scenario.id);
    }
    std::vector<CoverageCell> all;
    for (auto& [key, cell] : cells) all.push_back(std::move(cell));
    return all;
}

// Fix patterns of a pair that has scenarios, but none that is healed by this pattern.
void add_fix_gaps(Coverage& coverage, const scenarios::SymptomCausePair& pair) {
    for (const std::string& fix : pair.fixes) {
        std::set<std::string> healed_by;
        for (const CoverageCell& cell : coverage.cells) {
            if (cell.symptom == pair.symptom && cell.cause == pair.cause) healed_by.insert(cell.fix);
        }
        if (healed_by.contains(fix)) continue;
        coverage.fix_gaps.push_back(
            {pair.symptom, pair.cause, fix,
             fmt::format("its scenarios are healed by {}", fmt::join(healed_by, ", ")), pair.scenarios,
             pair.examples});
    }
}

}  // namespace

std::vector<std::string> CoverageAxis::missing() const {
    std::vector<std::string> ids;
    for (const auto& [id, count] : scenarios) {
        if (count == 0) ids.push_back(id);
    }
    return ids;
}

std::size_t CoverageAxis::covered() const { return scenarios.size() - missing().size(); }

bool Coverage::complete() const {
    return symptoms.missing().empty() && causes.missing().empty() && fixes.missing().empty() &&
           stages.missing().empty();
}

namespace {

void count_makings(Coverage& coverage, const scenarios::Scenario& scenario) {
    const auto is_switch = [](const scenarios::FaultSettings& fault) {
        return !fault.provokes && (fault.kind == scenarios::FaultId::bend_value ||
                                   fault.kind == scenarios::FaultId::skip_block ||
                                   fault.kind == scenarios::FaultId::shift_shard);
    };
    if (scenario.workload_kind == scenarios::python_workload)
        ++coverage.real_code;
    else if (std::any_of(scenario.faults.begin(), scenario.faults.end(), is_switch))
        ++coverage.planted;
    else
        ++coverage.outside;
}

}  // namespace

Coverage coverage_of(const std::vector<scenarios::Scenario>& scenarios, const scenarios::Taxonomy& taxonomy) {
    Coverage coverage;
    coverage.symptoms = axis("symptoms", taxonomy.symptoms);
    coverage.causes = axis("causes", taxonomy.causes);
    coverage.fixes = axis("fixes", taxonomy.fixes);
    coverage.stages = axis("stages", taxonomy.stages);
    std::set<Pair> covered, proposed;
    for (const scenarios::Scenario& scenario : scenarios) {
        count(coverage, scenario);
        count_makings(coverage, scenario);
        covered.emplace(scenario.bug.symptom, scenario.bug.cause);
    }
    coverage.cells = cells_of(scenarios);
    for (const auto& pair : taxonomy.pairs) {
        proposed.emplace(pair.symptom, pair.cause);
        if (covered.contains({pair.symptom, pair.cause})) {
            add_fix_gaps(coverage, pair);
        } else {
            coverage.gaps.push_back(
                {pair.symptom, pair.cause, "", why_missing(pair, coverage), pair.scenarios, pair.examples});
        }
    }
    coverage.pairs = taxonomy.pairs.size();
    std::set_difference(covered.begin(), covered.end(), proposed.begin(), proposed.end(),
                        std::back_inserter(coverage.beyond));
    return coverage;
}

}  // namespace deadrank::results
