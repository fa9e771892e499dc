// runners/commands/swarm_report.cpp — Every number that is an estimate has its interval beside it.
#include "runners/commands/swarm_report.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "results/text/words.h"
#include "runners/find/statistics.h"
#include "scenarios/format/plan_file.h"

namespace deadrank::runners::commands {

namespace {

using find::Swarm;
using results::counted;
using results::reports::Ink;
using results::reports::Style;

std::string fine_percent(double share) {
    return share < 0.1 ? fmt::format("{:.1f} %", 100 * share) : fmt::format("{:.0f} %", 100 * share);
}

std::string findability(std::uint64_t seen, std::uint64_t runs) {
    const auto interval = find::clopper_pearson(seen, runs);
    const auto clean = find::clean_runs_after(seen, runs);
    return fmt::format("{} of {} plans ({}–{}); fixed after {} without it", seen, runs,
                       fine_percent(interval.low), fine_percent(interval.high),
                       counted(clean.value_or(0), "clean run"));
}

std::string size_of(const find::Group& group) {
    return fmt::format("{}, {}, {}", counted(group.size.faults, "fault"),
                       counted(static_cast<std::size_t>(group.size.ranks), "rank"),
                       counted(static_cast<std::size_t>(group.size.steps), "step"));
}

std::string group_text(const find::Group& group, std::uint64_t runs, const std::string& file,
                       const Style& style) {
    std::string text =
        fmt::format("\n{} {}\n", style.paint(Ink::red, "✘"), style.paint(Ink::bold, group.name()));
    const auto row = [&](std::string_view label, const std::string& words) {
        text += fmt::format("    {} {}\n", style.paint(Ink::dim, results::reports::pad_right(label, 9)),
                            style.cut(words, style.width == 0 ? 0 : style.width - 14));
    };
    row("seen", findability(group.seen, runs));
    row("smallest", fmt::format("{}; first under seed {}", size_of(group), group.first_seed));
    for (std::size_t i = 0; i < std::min<std::size_t>(group.detail.size(), 2); ++i)
        row(i == 0 ? "rang" : "", group.detail[i]);
    if (!file.empty()) row("plan", file);
    return text;
}

// Cells that were drawn least among those that are not known to be out of reach.
std::string coverage_text(const Swarm& swarm, const Style& style) {
    std::map<std::string, std::pair<std::size_t, std::size_t>> by_phase;  // reached, drawn
    for (const auto& [cell, count] : swarm.coverage.cells()) {
        auto& [reached, drawn] = by_phase[cell.phase];
        ++drawn;
        reached += count.acted > 0 ? 1 : 0;
    }
    std::vector<std::string> parts;
    for (const std::string_view phase : find::phases) {
        const auto found = by_phase.find(std::string(phase));
        if (found == by_phase.end()) continue;
        parts.push_back(fmt::format("{} {}/{}", phase, found->second.first, found->second.second));
    }
    return fmt::format("\n{} {} of {} drawn cells of fault × phase × role had an effect\n    {}\n",
                       style.paint(Ink::bold, "coverage"), swarm.coverage.reached(),
                       swarm.coverage.cells().size(), fmt::join(parts, " · "));
}

std::string sometimes_text(const Swarm& swarm, const Style& style) {
    std::string text = "\n" + style.paint(Ink::bold, "sometimes") + "\n";
    for (const auto& property : find::all_properties()) {
        if (property.mood != find::Mood::sometimes) continue;
        const auto found = swarm.sometimes.find(property.name);
        const bool held = found != swarm.sometimes.end() && !found->second.empty();
        const std::string ways = !held ? "never: this search was too small, or it cannot happen"
                                 : found->second.size() > 6
                                     ? fmt::format("in {} ways", found->second.size())
                                     : fmt::format("{}", fmt::join(found->second, ", "));
        text += fmt::format("  {} {}: {}\n", style.paint(held ? Ink::green : Ink::yellow, held ? "✔" : "·"),
                            property.says, ways);
    }
    return text;
}

}  // namespace

std::string swarm_text(const Swarm& swarm, const std::vector<std::string>& files, const Style& style,
                       double seconds) {
    const std::uint64_t runs = swarm.played - swarm.no_job;
    std::string text;
    for (std::size_t i = 0; i < swarm.groups.size(); ++i)
        text += group_text(swarm.groups[i], runs, i < files.size() ? files[i] : "", style);
    text += coverage_text(swarm, style) + sometimes_text(swarm, style);
    text += fmt::format("\n  {} plans · {} in {} · {} without effect · {} no healthy job · {:.1f} s\n",
                        swarm.played, counted(swarm.groups.size(), "finding"), counted(runs, "job"),
                        swarm.without_effect, swarm.no_job, seconds);
    if (swarm.untold > 0) text += fmt::format("  {} could not be played: {}\n", swarm.untold, swarm.trouble);
    if (swarm.clean()) {
        text += fmt::format("  nothing broke: what shows in a share of {} or more of such plans would have\n",
                            fine_percent(find::clopper_pearson(0, runs, 0.9).high));
    }
    return text;
}

std::string swarm_json(const Swarm& swarm, const std::vector<std::string>& files) {
    const std::uint64_t runs = swarm.played - swarm.no_job;
    nlohmann::ordered_json groups = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < swarm.groups.size(); ++i) {
        const find::Group& group = swarm.groups[i];
        const auto interval = find::clopper_pearson(group.seen, runs);
        groups.push_back({{"property", group.signature.property},
                          {"how", group.signature.how},
                          {"kinds", group.kinds},
                          {"seen", group.seen},
                          {"of", runs},
                          {"share_low", interval.low},
                          {"share_high", interval.high},
                          {"clean_runs_needed", find::clean_runs_after(group.seen, runs).value_or(0)},
                          {"first_seed", group.first_seed},
                          {"ranks", group.size.ranks},
                          {"steps", group.size.steps},
                          {"rang", group.detail},
                          {"file", i < files.size() ? files[i] : ""},
                          {"plan", scenarios::to_toml(group.witness)}});
    }
    nlohmann::ordered_json cells = nlohmann::ordered_json::array();
    for (const auto& [cell, count] : swarm.coverage.cells()) {
        cells.push_back({{"fault", cell.kind},
                         {"phase", cell.phase},
                         {"role", cell.role},
                         {"drawn", count.drawn},
                         {"acted", count.acted}});
    }
    const nlohmann::ordered_json json = {
        {"plans", swarm.played},      {"no_job", swarm.no_job}, {"without_effect", swarm.without_effect},
        {"not_played", swarm.untold}, {"findings", groups},     {"sometimes", swarm.sometimes},
        {"coverage", cells}};
    return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace deadrank::runners::commands
