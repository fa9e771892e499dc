// results/reports/values.cpp — Losses, replicas, and what a job says of its own numbers.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

#include "results/reports/clues.h"
#include "results/text/style.h"

namespace deadrank::results::reports {

namespace {

constexpr std::size_t steps_most = 12;
constexpr std::size_t value_lines_most = 8;

std::string number_text(double value) { return std::isfinite(value) ? fmt::format("{:.4g}", value) : "NaN"; }

// By step, what most ranks printed and what the others did.
std::map<std::int64_t, std::map<std::string, std::vector<Rank>>> losses_of(const Evidence& evidence) {
    std::map<std::int64_t, std::map<std::string, std::vector<Rank>>> losses;
    for (const Event* event : evidence.each<StepEnd>())
        losses[event->as<StepEnd>()->step][number_text(event->as<StepEnd>()->loss)].push_back(event->rank);
    return losses;
}

template <class Losses>
std::string loss_line(const Losses& losses) {
    std::string line;
    std::size_t told = 0;
    for (const auto& [step, by_value] : losses) {
        if (told++ == steps_most) return line + " …";
        const auto most =
            std::max_element(by_value.begin(), by_value.end(),
                             [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
        line += fmt::format("{}{}{}", line.empty() ? "" : "  ", most->first, by_value.size() > 1 ? "*" : "");
    }
    return line;
}

Clue loss_clue(const Evidence& evidence, const Evidence* good) {
    const auto losses = losses_of(evidence);
    if (losses.empty()) return {};
    Clue clue{"loss by step (* not all ranks print the same)",
              {pad_right("this run", 18) + loss_line(losses)}};
    if (good) clue.lines.push_back(pad_right("the last good run", 18) + loss_line(losses_of(*good)));
    return clue;
}

// The first step in which ranks that must hold the same do not.
Clue replica_clue(const Evidence& evidence) {
    std::map<std::tuple<std::int64_t, std::string_view, std::string_view>,
             std::map<std::uint64_t, std::vector<Rank>>>
        digests;
    for (const Event* event : evidence.each<ParametersDigest>()) {
        const auto* what = event->as<ParametersDigest>();
        digests[{what->step, evidence.text(what->group), evidence.text(what->name)}][what->digest].push_back(
            event->rank);
    }
    for (const auto& [what, by_digest] : digests) {
        if (by_digest.size() < 2) continue;
        const auto& [step, group, name] = what;
        Clue clue{fmt::format("{} of group {} after step {}, the first that is not the same on all", name,
                              group, step),
                  {}};
        for (const auto& [digest, ranks] : by_digest) {
            if (clue.lines.size() < value_lines_most)
                clue.lines.push_back(fmt::format("{}{:016x}", pad_right(who_text(ranks), 18), digest));
        }
        return clue;
    }
    return {};
}

// Quantities that the job's own definition gives otherwise, or that differ from the good run's.
Clue sample_clue(const Evidence& evidence, const Evidence* good) {
    std::map<std::pair<std::int64_t, std::string>, double> then;
    if (good) {
        for (const Event* event : good->each<ValueSample>()) {
            const auto* what = event->as<ValueSample>();
            then[{what->step, std::string(good->text(what->name))}] = what->value;
        }
    }
    std::map<std::string, std::vector<Rank>> lines;
    std::vector<std::string> order;
    for (const Event* event : evidence.each<ValueSample>()) {
        const auto* what = event->as<ValueSample>();
        const std::string name(evidence.text(what->name));
        const auto before = then.find({what->step, name});
        const bool odd = std::isfinite(what->expected) && what->value != what->expected;
        const bool changed = before != then.end() && before->second != what->value;
        if (!odd && !changed) continue;
        std::string line = fmt::format("step {}  {} = {}", what->step, name, number_text(what->value));
        if (odd) line += fmt::format(", by the job's own definition {}", number_text(what->expected));
        if (changed) line += fmt::format(", in the last good run {}", number_text(before->second));
        if (lines.count(line) == 0) order.push_back(line);
        lines[line].push_back(event->rank);
    }
    Clue clue{"what the job says of its numbers", {}};
    for (const std::string& line : order) {
        if (clue.lines.size() < value_lines_most)
            clue.lines.push_back(pad_right(Style{}.cut(who_text(lines[line]), 17), 18) + line);
    }
    return clue;
}

}  // namespace

std::vector<Clue> value_clues(const Evidence& evidence, const Evidence* good) {
    return {loss_clue(evidence, good), replica_clue(evidence), sample_clue(evidence, good)};
}

}  // namespace deadrank::results::reports
