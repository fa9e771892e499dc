// tests/support/catalog.h — The shipped catalog, loaded once for a test, and the simulator to play it in.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "runners/backends/sim/sim_runner.h"
#include "runners/extension/extension.h"
#include "runners/pipeline/play_trial.h"

namespace deadrank::tests {

struct ShippedCatalog {
    scenarios::Vocabulary vocabulary = runners::vocabulary();
    std::vector<scenarios::Scenario> scenarios;  // of C++ workloads: each plays in milliseconds
    std::vector<scenarios::Scenario> real;       // of real programs, which need a Python with torch

    std::vector<scenarios::Scenario> all() const;

    // Throws with every problem of every file.
    ShippedCatalog();

    // Throws when there is no such id.
    const scenarios::Scenario& named(const std::string& id) const;
};

}  // namespace deadrank::tests
