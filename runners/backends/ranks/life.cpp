// runners/backends/ranks/life.cpp — One rank's life in its own process: the plan without its bug, the gate
// with its faults, the world, the workload.
#include "runners/backends/ranks/life.h"

#include <fmt/format.h>
#include <unistd.h>

#include "runners/backend/extension.h"
#include "runners/backend/plan_settings.h"
#include "runners/backends/ranks/job_world.h"
#include "scenarios/format/plan_file.h"
#include "sim/workloads/workload_catalog.h"
#include "sim/world/failure.h"

namespace deadrank::runners {

// Every taxonomy id becomes this word, the only one in the reader's taxonomy, so that ranks need no data
// file.

namespace {
constexpr const char* hidden = "hidden";
}

std::string hidden_plan_text(scenarios::Plan plan) {
    plan.bug = {.stage = hidden, .symptom = hidden, .cause = hidden, .fix = hidden, .replays = {}};
    plan.expect = {};
    plan.expect.symptom = hidden;
    return scenarios::to_toml(plan);
}

scenarios::Result<scenarios::Plan> read_hidden_plan(const std::filesystem::path& file) {
    scenarios::Taxonomy taxonomy;
    const scenarios::TaxonomyEntry word{.id = hidden, .name = hidden};
    taxonomy.stages = taxonomy.symptoms = taxonomy.causes = taxonomy.fixes = {word};
    return scenarios::load_plan(file, taxonomy, vocabulary());
}

// An exception from the workload ends this rank only.

namespace {

int play(const scenarios::Plan& plan, RealWorld& world, Trail& evidence) {
    const auto failed = [&](std::string_view what, int code) {
        if (code == 0) return code;  // exit(0) prints nothing
        evidence.log(2, fmt::format("Traceback (most recent call last):\n{}", what));
        return code;
    };
    const sim::WorkloadKind* workload = sim::find_workload(plan.workload_kind);
    if (!workload) return complain(fmt::format("there is no workload '{}'", plan.workload_kind));
    try {
        workload->script(plan.workload)(world);
        world.phase(results::Phase::none);
        return 0;
    } catch (const sim::RankFailure& failure) {
        return failed(failure.what(), failure.code);
    } catch (const sim::RankKilled& killed) {
        return 128 + killed.signal;
    } catch (const std::exception& error) {
        return failed(std::string("RuntimeError: ") + error.what(), 1);
    }
}

}  // namespace

int complain(const std::string& what) {
    fmt::print(stderr, "deadrank: {}\n", what);
    return not_ours;
}

int live(const Life& life) {
    const auto plan = read_hidden_plan(life.directory / "plan.toml");
    if (!plan) return complain(plan.error().text());
    const auto settings = cluster_settings(plan->cluster);
    if (!settings) return complain(settings.error().text());
    const std::string file = fmt::format("rank{}.jsonl", life.process);
    Trail evidence(life.directory / "evidence" / file, life.process);
    Trail truth(life.directory / "truth" / file, life.process);
    auto gate = Gate::make(*plan, life.reach, life.process, evidence, truth, life.keeper);
    if (!gate) return complain(gate.error().text());
    RealWorld world(*plan, *settings, **gate, evidence, life.library, life.directory, life.process);
    const Opening opening{world.env().all(), (*gate)->levers().state().versions, world.node(),
                          settings->gpus_per_node};
    if (const auto opened = life.library.open(opening); !opened) return complain(opened.error().text());
    const JobClock clock = life.clock();
    evidence.begin(clock);
    truth.begin(clock);
    world.show_start(getpid());
    return play(*plan, world, evidence);
}

}  // namespace deadrank::runners
