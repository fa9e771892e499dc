// runners/serve/pager.h — Who is paged for each failure, and which alerts are suppressed: a real Alertmanager
// sends its notifications to a receiver on loopback.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "results/alerts/study.h"

namespace deadrank::runners::serve {

// Plays the alerts of all failures to Alertmanager, 120 times as fast as they fired, and counts the
// notifications that it sends. It routes, groups, waits, repeats, inhibits and mutes as the configuration
// says. Receivers keep their names and lose their addresses, so that nobody is called. Time intervals apply
// as they do at the moment of the run. Once `stopped` is true the play ends, and nothing is counted; a note
// of the study says so. Errors: environment, when there is no such program; bad_input with its words, when it
// refuses the configuration; io.
scenarios::Result<void> query_pager(results::alerts::Study& study, const std::string& program,
                                    const std::filesystem::path& config,
                                    const std::function<bool()>& stopped);

}  // namespace deadrank::runners::serve
