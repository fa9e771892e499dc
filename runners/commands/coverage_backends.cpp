// runners/commands/coverage_backends.cpp — A plan is resolved for each backend that the file does not name:
// what its levers, workloads or size forbid is the reason.
#include "runners/commands/coverage_backends.h"

#include "runners/backends/catalog/backend.h"
#include "runners/commands/selection.h"
#include "scenarios/model/plan.h"
#include "scenarios/format/resolve.h"

namespace deadrank::runners::commands {

namespace {

std::string reason(const Library& library, const scenarios::Scenario& scenario, Runner& runner) {
    const auto trial = scenarios::resolve(scenario, {1}, runner.capabilities(), library.vocabulary);
    if (!trial) return trial.error().what;
    const auto able = runner.on_paper(trial->fault);
    return able ? "it could be, and its file does not say that it was tried" : able.error().what;
}

}  // namespace

BackendReasons why_not_played(const Library& library, const std::vector<scenarios::Scenario>& scenarios) {
    BackendReasons reasons;
    for (const std::string backend : {"sim", "local", "mpi", "gpu"}) {
        const auto runner = make_runner(backend, {});
        for (const scenarios::Scenario& scenario : scenarios) {
            if (playable_on(scenario, backend)) continue;
            reasons[scenario.id][backend] =
                runner ? reason(library, scenario, **runner) : runner.error().what;
        }
    }
    return reasons;
}

}  // namespace deadrank::runners::commands
