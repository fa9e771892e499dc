// tests/support/catalog.h — The shipped catalog, loaded once for a test, and the simulator to play it in.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "runners/backend/extension.h"
#include "runners/backends/sim/sim_runner.h"
#include "runners/pipeline/play_trial.h"

namespace deadrank::tests {

struct ShippedCatalog {
    scenarios::Vocabulary vocabulary = runners::vocabulary();
    std::vector<scenarios::Scenario> scenarios;

    // Throws with every problem of every file.
    ShippedCatalog();

    // Throws when there is no such id.
    const scenarios::Scenario& named(const std::string& id) const;
};

}  // namespace deadrank::tests
