// runners/commands/swarm_report.h — A swarm as text and as JSON: what broke, how often, how many clean runs
// would prove it mended, and where nobody has looked yet.
#pragma once

#include <string>
#include <vector>

#include "results/text/style.h"
#include "runners/find/swarm.h"

namespace deadrank::runners::commands {

// The file of each group's witness below `out`, in the order of the groups; empty when nothing was written.
std::string swarm_text(const find::Swarm& swarm, const std::vector<std::string>& files,
                       const results::reports::Style& style, double seconds);
std::string swarm_json(const find::Swarm& swarm, const std::vector<std::string>& files);

}  // namespace deadrank::runners::commands
