// runners/commands/find/mutant_report.cpp — The names of mutations and their groups are the manual's, which explains
// them.
#include "runners/commands/find/mutant_report.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "results/record/words.h"
#include "scenarios/format/closing.h"
#include "scenarios/format/scenario_tables.h"

namespace deadrank::runners::commands {

namespace {

using explore::CallSite;
using explore::Mutant;
using explore::MutantOutcome;
using results::reports::Ink;
using results::reports::Json;
using results::reports::pad_left;
using results::reports::pad_right;
using results::reports::Style;
using scenarios::ErrorCode;

constexpr std::size_t shown_most = 12;  // survivors on one screen
constexpr MutantOutcome all_outcomes[] = {MutantOutcome::killed,     MutantOutcome::timed_out,
                                          MutantOutcome::survived,   MutantOutcome::equivalent,
                                          MutantOutcome::not_reached, MutantOutcome::invalid};

Ink ink_of_mutant(MutantOutcome outcome) {
    if (outcome == MutantOutcome::survived) return Ink::red;
    return explore::counts(outcome) ? Ink::green : Ink::dim;
}

std::string_view words_of(MutantOutcome outcome) {
    if (outcome == MutantOutcome::timed_out) return "timed out";
    if (outcome == MutantOutcome::not_reached) return "not reached";
    return explore::name_of(outcome);
}

// "test_a, test_b and 3 more"
std::string some_of(const std::vector<std::string>& names, std::size_t most) {
    const std::vector<std::string> first(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(
                                                                            std::min(most, names.size())));
    std::string text = fmt::format("{}", fmt::join(first, ", "));
    if (names.size() > most) text += fmt::format(" and {} more", names.size() - most);
    return text;
}

// "TestSums.test_sum" of "__main__.TestSums.test_sum", "test_x.py::test_a" of "tests/unit/test_x.py::test_a".
std::string short_name(const std::string& test) {
    const std::size_t colons = test.find("::");
    if (colons != std::string::npos) {
        const std::size_t slash = test.rfind('/', colons);
        return slash == std::string::npos ? test : test.substr(slash + 1);
    }
    const std::size_t last = test.rfind('.');
    const std::size_t before = last == std::string::npos || last == 0 ? last : test.rfind('.', last - 1);
    return before == std::string::npos ? test : test.substr(before + 1);
}

std::vector<std::string> short_names(std::vector<std::string> tests) {
    for (std::string& test : tests) test = short_name(test);
    return tests;
}

}  // namespace

const std::vector<MutationGroup>& mutation_groups() {
    static const std::vector<MutationGroup> groups = [] {
        std::vector<MutationGroup> found;
        constexpr std::string_view begin = "mutation of ";
        for (const manual::OutputWord& word : manual::output_words()) {
            if (!word.where.starts_with(begin)) continue;
            const std::string group(word.where.substr(begin.size(), word.where.find(" (") - begin.size()));
            if (found.empty() || found.back().name != group) found.push_back({group, {}});
            found.back().mutations.emplace_back(word.word);
        }
        return found;
    }();
    return groups;
}

scenarios::Result<std::set<std::string>> mutations_of(const std::vector<std::string>& words) {
    std::set<std::string> chosen;
    std::vector<std::string> known;
    for (const MutationGroup& group : mutation_groups()) {
        known.push_back(group.name);
        known.insert(known.end(), group.mutations.begin(), group.mutations.end());
    }
    for (const std::string& word : words) {
        bool found = false;
        for (const MutationGroup& group : mutation_groups()) {
            const bool whole = group.name == word;
            for (const std::string& mutation : group.mutations)
                if (whole || mutation == word) chosen.insert(mutation), found = true;
        }
        if (found) continue;
        const std::string near = scenarios::nearest(word, known);
        return scenarios::refuse(ErrorCode::usage, fmt::format("--mutate has no mutation '{}'", word),
                                 near.empty() ? fmt::format("groups are {}", fmt::join([] {
                                                                std::vector<std::string> names;
                                                                for (const auto& one : mutation_groups())
                                                                    names.push_back(one.name);
                                                                return names;
                                                            }(), ", "))
                                              : fmt::format("did you mean '{}'?", near));
    }
    return chosen;
}

std::size_t MutantReport::count(MutantOutcome outcome) const {
    return static_cast<std::size_t>(std::count_if(mutants.begin(), mutants.end(), [&](const Mutant& one) {
        return one.outcome() == outcome;
    }));
}

std::size_t MutantReport::runs() const {
    std::size_t all = 0;
    for (const Mutant& one : mutants) all += one.runs.size();
    return all;
}

int MutantReport::code() const {
    const std::size_t noticed = count(MutantOutcome::killed) + count(MutantOutcome::timed_out);
    if (count(MutantOutcome::survived) > 0) return 1;
    return noticed > 0 ? 0 : 2;
}

std::string MutantReport::place(const CallSite& site) const {
    std::string file = site.file;
    constexpr std::string_view installed = "/site-packages/";
    if (!directory.empty() && file.starts_with(directory + "/"))
        file = file.substr(directory.size() + 1);
    else if (const std::size_t at = file.rfind(installed); at != std::string::npos)
        file = file.substr(at + installed.size());
    return fmt::format("{}:{}", file, site.line);
}

std::string MutantReport::text(const Style& style, bool whole) const {
    std::map<std::string, std::map<MutantOutcome, std::size_t>> by_mutation;
    for (const Mutant& one : mutants)
        if (!one.mutation.empty()) ++by_mutation[one.mutation][one.outcome()];
    std::string text = "\n  " + pad_right("mutation", 26);
    for (const MutantOutcome outcome : all_outcomes)
        if (outcome != MutantOutcome::not_reached || count(outcome) > 0) text += pad_left(std::string(words_of(outcome)), 12);
    text += "\n";
    for (const MutationGroup& group : mutation_groups()) {
        for (const std::string& mutation : group.mutations) {
            const auto row = by_mutation.find(mutation);
            if (row == by_mutation.end()) continue;
            text += "  " + pad_right(mutation, 26);
            for (const MutantOutcome outcome : all_outcomes) {
                if (outcome == MutantOutcome::not_reached && count(outcome) == 0) continue;
                const std::size_t number = row->second[outcome];
                const std::string cell = pad_left(number == 0 ? "." : std::to_string(number), 12);
                text += style.paint(number == 0 ? Ink::dim : ink_of_mutant(outcome), cell);
            }
            text += "\n";
        }
    }
    std::size_t shown = 0;
    std::vector<const Mutant*> listed;
    for (const Mutant& one : mutants)
        if (whole || one.outcome() == MutantOutcome::survived) listed.push_back(&one);
    if (!listed.empty()) text += "\n";
    for (const Mutant* one : listed) {
        if (!whole && ++shown > shown_most) {
            text += fmt::format("  … and {} more that survived: -v shows all\n", listed.size() - shown_most);
            break;
        }
        const MutantOutcome outcome = one->outcome();
        text += fmt::format("  {} {} at {}", style.paint(ink_of_mutant(outcome), words_of(outcome)), one->says(),
                            style.paint(Ink::bold, place(one->site)));
        if (outcome == MutantOutcome::killed || outcome == MutantOutcome::timed_out)
            text += fmt::format(" by {}", some_of(short_names(one->killers()), whole ? 3 : 2));
        else if (outcome == MutantOutcome::invalid)
            for (const explore::MutantRun& run : one->runs) {
                if (run.trouble.empty() && !run.fails) continue;
                text += fmt::format(": {}: {}", short_name(run.test),
                                    run.trouble.empty() ? "fails although no value changed" : run.trouble);
                break;
            }
        else if (outcome != MutantOutcome::not_reached)
            text += fmt::format(", executed by {}", some_of(short_names(one->tests), 3));
        text += "\n";
    }
    const std::size_t killed = count(MutantOutcome::killed), late = count(MutantOutcome::timed_out),
                      survived = count(MutantOutcome::survived), all = killed + late + survived;
    text += fmt::format("\n  {} of {} noticed", killed + late, results::counted(all, "mutant"));
    if (all > 0) text += fmt::format(" ({} %)", (killed + late) * 100 / all);
    if (late > 0) text += fmt::format(", {} by a hang", late);
    text += fmt::format(" · {} survived", survived);
    text += fmt::format(" · not counted: {} that changed no value", count(MutantOutcome::equivalent));
    if (const std::size_t number = count(MutantOutcome::not_reached); number > 0)
        text += fmt::format(", {} that no test executes", results::counted(number, "call"));
    if (const std::size_t number = count(MutantOutcome::invalid); number > 0)
        text += fmt::format(", {} invalid", number);
    text += fmt::format("\n  {} · {} · {:.1f} s\n", results::counted(tests, "test"), results::counted(runs(), "run"),
                        seconds);
    if (failing > 0)
        text += fmt::format("  {} without any mutant, so they can notice nothing\n",
                            failing == 1 ? "1 test fails or skips" : fmt::format("{} tests fail or skip", failing));
    std::size_t drawn = 0;
    for (const Mutant& one : mutants) drawn += one.mutation.empty() ? 0 : 1;
    if (stopped > 0) text += fmt::format("  stopped before {} were played\n", results::counted(stopped, "mutant"));
    if (drawn + stopped < found) text += fmt::format("  drawn from {} with --seed {}\n", found, seed);
    return text;
}

Json MutantReport::json() const {
    Json list = Json::array();
    for (const Mutant& one : mutants) {
        Json runs = Json::array();
        for (const explore::MutantRun& run : one.runs)
            runs.push_back({{"test", run.test},
                            {"executed", run.executed},
                            {"changed", run.changed},
                            {"fails", run.fails},
                            {"hangs", run.hangs},
                            {"trouble", run.trouble}});
        list.push_back({{"mutation", one.mutation.empty() ? Json(nullptr) : Json(one.mutation)},
                        {"call", one.site.call},
                        {"place", place(one.site)},
                        {"outcome", explore::name_of(one.outcome())},
                        {"killed_by", one.killers()},
                        {"tests", one.tests},
                        {"runs", std::move(runs)}});
    }
    Json counts = Json::object();
    for (const MutantOutcome outcome : all_outcomes) counts[std::string(explore::name_of(outcome))] = count(outcome);
    return {{"seed", seed}, {"tests", tests}, {"failing_tests", failing}, {"found", found}, {"stopped", stopped}, {"counts", counts},
            {"mutants", std::move(list)}};
}

std::vector<results::Case> MutantReport::cases() const {
    std::vector<results::Case> cases;
    for (const Mutant& mutant : mutants) {
        results::Case one;
        one.scenario = fmt::format("{} at {}", mutant.says(), place(mutant.site));
        std::replace(one.scenario.begin(), one.scenario.end(), '/', '.');  // else the class would end there
        one.runner = "mutate";
        one.seed = seed;
        const MutantOutcome outcome = mutant.outcome();
        one.verdict = outcome == MutantOutcome::survived  ? results::Verdict::fail
                      : explore::counts(outcome) ? results::Verdict::pass
                                                 : results::Verdict::unknown;
        one.reason = outcome == MutantOutcome::survived
                         ? fmt::format("no test fails; executed by {}", some_of(mutant.tests, 3))
                         : std::string(words_of(outcome));
        cases.push_back(std::move(one));
    }
    return cases;
}

}  // namespace deadrank::runners::commands
