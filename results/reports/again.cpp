// results/reports/again.cpp — The token repeats the run bit for bit; the seed repeats the draws, whatever the
// build.
#include "results/reports/again.h"

#include <fmt/format.h>

namespace deadrank::results::reports {

std::vector<std::string> commands_to_see_again(const Case& one) {
    if (one.runner == from_files) return {"deadrank judge " + one.directory.string()};
    std::vector<std::string> commands;
    if (!one.token.empty()) commands.push_back("deadrank replay " + one.token);
    const std::string runner = one.runner == "sim" ? "" : " --runner " + one.runner;
    const std::string which = one.file.empty() ? one.scenario : one.file.string();
    commands.push_back(fmt::format("deadrank run {} --seed {}{}", which, one.seed, runner));
    return commands;
}

}  // namespace deadrank::results::reports
