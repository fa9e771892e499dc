// results/reports/again.cpp — The token repeats the run bit for bit; the seed repeats the draws, whatever the
// build.
#include "results/reports/again.h"

#include <fmt/format.h>

namespace deadrank::results::reports {

namespace {

// A word for a shell, as it is where that needs no quotes.
std::string quoted(const std::string& word) {
    constexpr std::string_view plain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+:@%=";
    if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
    std::string safe = "'";
    for (const char c : word) safe += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return safe + "'";
}

}  // namespace

std::vector<std::string> commands_to_see_again(const Case& one) {
    if (one.runner == from_files) return {"deadrank judge " + quoted(one.directory.string())};
    std::vector<std::string> commands;
    if (!one.token.empty()) {
        const std::string where = one.file.empty() ? "" : " --scenario " + quoted(one.file.string());
        commands.push_back("deadrank replay " + one.token + where);
    }
    const std::string runner = one.runner == "sim" ? "" : " --runner " + one.runner;
    const std::string which = one.file.empty() ? one.scenario : quoted(one.file.string());
    commands.push_back(fmt::format("deadrank run {} --seed {}{}", which, one.seed, runner));
    return commands;
}

}  // namespace deadrank::results::reports
