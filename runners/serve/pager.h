// runners/serve/pager.h — Who is paged for each failure, and which alerts are suppressed: asked of a real
// Alertmanager on loopback.
#pragma once

#include <filesystem>
#include <string>

#include "results/alerts/study.h"

namespace deadrank::runners::serve {

// Gives Alertmanager what fires under each failure, as it was at the end of each alert's group_wait, and
// keeps its answers in the rows and cells. It routes, groups and inhibits as the configuration says;
// receivers keep their names alone, so that nobody is called. Errors: environment, when there is no such
// program; bad_input with its words, when it refuses the configuration; io.
scenarios::Result<void> query_pager(results::alerts::Study& study, const std::string& program,
                                    const std::filesystem::path& config);

}  // namespace deadrank::runners::serve
