// Goal: the doctor's rules are judged by the catalogue: silent on what every healthy run shows of its start,
// and each scenario of environment and versions is caught at the right variable or package, on the right
// ranks.
#include <algorithm>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <set>

#include "results/preflight/examine.h"
#include "runners/backends/sim/sim_runner.h"
#include "runners/pipeline/play_trial.h"
#include "scenarios/format/plan_file.h"
#include "tests/support/beyond_the_start.h"
#include "tests/support/catalog.h"

namespace deadrank::tests {
namespace {

using results::preflight::examine;
using results::preflight::Job;
using results::preflight::Knowledge;
using results::preflight::Remark;

const Knowledge& knowledge() {
    static const Knowledge all =
        results::preflight::load_knowledge(DEADRANK_SOURCE_DIRECTORY "/results/preflight").value();
    return all;
}

// What a process's start shows of these; the other faults happen later, or on the machine.
bool shows_at_start(const scenarios::FaultSpec& fault) {
    static const std::set<std::string> kinds = {"set_env", "unset_env", "skew_version", "swap_ranks"};
    return kinds.contains(fault.kind);
}

std::string subject_of(const scenarios::FaultSpec& fault) {
    if (fault.kind == "swap_ranks") return "RANK";
    return fault.text(fault.kind == "skew_version" ? "package" : "name");
}

Job start_of(const scenarios::Plan& plan, runners::SimRunner& sim) {
    const auto played = runners::play_plan(plan, sim, {});
    return played ? results::preflight::snapshots_of(played->record.evidence) : Job{};
}

std::string listed_remarks(const std::vector<Remark>& remarks) {
    std::string text;
    for (const Remark& remark : remarks) text += fmt::format("  {}: {}\n", remark.rule, remark.says);
    return text;
}

TEST(Preflight, IsSilentOnTheStartOfEveryHealthyRun) {
    const ShippedCatalog catalog;
    runners::SimRunner sim;
    for (const auto& scenario : catalog.scenarios) {
        const auto trial = scenarios::resolve(scenario, {1}, sim.capabilities(), catalog.vocabulary);
        ASSERT_TRUE(trial) << scenario.id;
        const auto remarks = examine(start_of(trial->control, sim), knowledge());
        EXPECT_TRUE(remarks.empty()) << scenario.id << "\n" << listed_remarks(remarks);
    }
}

TEST(Preflight, CatchesEachEnvironmentAndVersionOfTheCatalogue) {
    const ShippedCatalog catalog;
    runners::SimRunner sim;
    int caught = 0;
    for (const auto& scenario : catalog.scenarios) {
        const auto trial = scenarios::resolve(scenario, {1}, sim.capabilities(), catalog.vocabulary);
        ASSERT_TRUE(trial) << scenario.id;
        for (const scenarios::FaultSpec& fault : trial->fault.faults) {
            if (!shows_at_start(fault) || needs_more_than_the_start(scenario)) continue;
            const auto remarks = examine(start_of(trial->fault, sim), knowledge());
            const bool named = std::any_of(remarks.begin(), remarks.end(), [&](const Remark& remark) {
                // Of two versions that do not go together either may be the subject; both are named.
                return remark.subject == subject_of(fault) ||
                       (remark.rule == "version_need" &&
                        remark.says.find(subject_of(fault)) != std::string::npos);
            });
            EXPECT_TRUE(named) << scenario.id << ": " << fault.kind << " of " << subject_of(fault)
                               << " was not seen; the doctor says\n"
                               << listed_remarks(remarks);
            caught += named;
        }
    }
    EXPECT_GE(caught, 18);
}

}  // namespace
}  // namespace deadrank::tests
