// runners/backends/catalog/backend.h — The runner that --runner names, or the reason why this build or
// machine has none.
#pragma once

#include <memory>
#include <string>

#include "runners/backend/extension.h"
#include "runners/backend/runner.h"

namespace deadrank::runners {

// Errors: usage, for an unknown name; unsupported, when this build was made without it.
scenarios::Result<std::unique_ptr<Runner>> make_runner(const std::string& name,
                                                       const Extension& extension = {});

// How many trials may run at once unless --jobs says otherwise: the simulator may use every core, a real job
// needs the machine to itself.
int usual_jobs(const std::string& runner);

}  // namespace deadrank::runners
