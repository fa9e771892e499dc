// runners/backend/runner.cpp — What is the same in each backend: a failure of this machine becomes an error.
#include "runners/backend/runner.h"

namespace deadrank::runners {

Runner::~Runner() = default;

scenarios::Result<Record> Runner::run(const scenarios::Plan& plan, const RunOptions& options) {
    try {
        return play(plan, options);
    } catch (const std::exception& thrown) {
        if (!scenarios::is_host_failure(thrown)) throw;
        return tl::unexpected(scenarios::host_error(thrown));
    }
}

}  // namespace deadrank::runners
