// runners/commands/find/sweep_program.cpp — deadrank sweep -- torchrun … train.py: plays, counts, and shows
// the map as text, JSON, Markdown, JUnit and a page.
#include "runners/commands/find/sweep_program.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mutex>
#include <nlohmann/json.hpp>

#include "results/record/text_file.h"
#include "results/record/words.h"
#include "results/reports/json_files.h"
#include "runners/backends/catalog/backend.h"
#include "runners/commands/screen.h"
#include "runners/commands/selection.h"
#include "runners/explore/program_sweep.h"

namespace deadrank::runners::commands {

namespace {

using explore::Outcome;
using explore::ProgramSweep;
using explore::SweepPlace;
using results::reports::Ink;
using results::reports::Json;
using results::reports::pad_right;
using results::reports::Style;

// Ranks that ended alike at every moment are one row.
struct MapRow {
    std::size_t fault = 0;
    std::vector<results::Rank> ranks;            // no_rank alone: a fault that aims at no rank
    std::vector<const SweepPlace*> places;       // of the first of them, by column; null = none
};

std::string shape_of(const MapRow& row) {
    std::string shape;
    for (const SweepPlace* place : row.places)
        shape += place ? fmt::format("{}{};", place->moment.text(), explore::name_of(place->outcome)) : ";";
    return shape;
}

std::vector<MapRow> rows_of(const ProgramSweep& sweep) {
    std::map<std::pair<std::size_t, results::Rank>, MapRow> by_rank;
    for (const SweepPlace& place : sweep.places) {
        MapRow& row = by_rank[{place.row, place.moment.rank}];
        row.fault = place.row;
        row.ranks = {place.moment.rank};
        if (row.places.size() <= place.column) row.places.resize(place.column + 1);
        row.places[place.column] = &place;
    }
    std::vector<MapRow> rows;
    std::map<std::string, std::size_t> known;
    for (auto& [key, row] : by_rank) {
        const auto [found, fresh] = known.emplace(fmt::format("{}/{}", key.first, shape_of(row)), rows.size());
        if (fresh)
            rows.push_back(std::move(row));
        else
            rows[found->second].ranks.push_back(key.second);
    }
    return rows;
}

std::string ranks_text(const MapRow& row) {
    if (row.ranks.front() == results::no_rank) return "the job";
    return fmt::format("rank{} {}", row.ranks.size() > 1 ? "s" : "",
                       results::ranges_text({row.ranks.begin(), row.ranks.end()}));
}

std::string where_of(const SweepPlace& place) {
    std::string text = place.moment.rank == results::no_rank ? "the job" : fmt::format("rank {}", place.moment.rank);
    text += ", " + place.moment.text();
    if (place.moment.step >= 0 && !place.moment.call.empty()) text += fmt::format(", step {}", place.moment.step);
    return text;
}

// "all_reduce 7, step 2"
std::string column_label(const explore::ProgramMoment& moment) {
    if (moment.call.empty()) return fmt::format("step {}", moment.step);
    const std::string call = fmt::format("{} {}", moment.call, moment.nth);
    return moment.step < 0 ? call : fmt::format("{}, step {}", call, moment.step);
}

Ink ink_of(Outcome outcome) {
    if (explore::is_bad(outcome)) return Ink::red;
    if (outcome >= Outcome::never_came) return Ink::dim;
    return outcome == Outcome::vague_error ? Ink::yellow : Ink::green;
}

std::string counts_text(const std::map<Outcome, std::size_t>& counts, const Style& style) {
    std::vector<std::string> parts;
    for (const auto& [outcome, count] : counts)
        parts.push_back(style.paint(ink_of(outcome), fmt::format("{} {} {}", explore::sign_of(outcome), count,
                                                                 explore::text_of(outcome))));
    return fmt::format("{}", fmt::join(parts, " · "));
}

class ProgramSweepCommand {
public:
    ProgramSweepCommand(const ProgramSweepArguments& arguments, Session& session)
        : arguments_(arguments), session_(session), style_(style_of(stdout)) {}

    void operator()() {
        auto library = open_library(session_.executable, session_.extension, "");
        if (!session_.take(library)) return;
        if (auto effect = check_effect(arguments_.faults, arguments_.program, library->vocabulary); !effect)
            return session_.complain(effect.error());
        auto program = open_program(arguments_.program, session_.extension);
        if (!session_.take(program)) return;
        const results::Detectors detectors = library->detectors();
        std::atomic<bool>& stop = stop_on_interrupt();
        explore::ProgramTrials trials(program->healthy, {.stop = &stop, .detectors = &detectors});
        const auto runner = program->make_runner();
        const auto repeats = check_repeats(trials, *runner, *program, session_.extension);
        if (stop.load()) {
            session_.code = exit_interrupted;
            return;
        }
        if (!repeats) return session_.complain(repeats.error());
        const auto begin = std::chrono::steady_clock::now();
        Progress progress;
        std::mutex screen;
        explore::ProgramSweepOptions options;
        options.faults = arguments_.faults.empty() ? std::vector<std::string>{"kill"} : arguments_.faults;
        options.moments = *scenarios::read_word<explore::MomentKind>(arguments_.moments);
        options.ranks = arguments_.ranks;
        options.steps = arguments_.steps;
        options.words = &library->vocabulary;
        options.workers.make_runner = program->make_runner;
        options.workers.threads = arguments_.jobs > 0 ? arguments_.jobs : usual_jobs("sim");
        options.workers.stop = &stop;
        options.workers.progress = [&](std::size_t done, std::size_t all) {
            const std::lock_guard lock(screen);
            progress.show(fmt::format("  {} of {}", done, results::counted(all, "run")));
        };
        auto sweep = explore::sweep_program(trials, options);
        progress.clear();
        if (!sweep) return complain_of_fault(sweep.error());
        const double seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        if (arguments_.json)
            print_out("{}\n", results::reports::dumped(json_of(*sweep), 1));
        else
            print_out("{}", text_of(*sweep, seconds));
        write_files(*sweep, trials, *runner, stop.load());
        if (session_.code == exit_pass) session_.code = code_of_sweep(*sweep, stop.load());
    }

private:
    void complain_of_fault(const scenarios::Error& error) {
        complain_of_line(session_, error, arguments_.faults.size() == 1 ? arguments_.faults.front() : "\n");
    }

    bool fails(const SweepPlace& place) const {
        const auto& accepted = arguments_.accepted;
        return explore::is_bad(place.outcome) &&
               std::find(accepted.begin(), accepted.end(), explore::name_of(place.outcome)) == accepted.end();
    }

    int code_of_sweep(const ProgramSweep& sweep, bool stopped) const {
        if (stopped) return exit_interrupted;
        if (std::any_of(sweep.places.begin(), sweep.places.end(), [&](const auto& one) { return fails(one); }))
            return exit_fail;
        auto counts = sweep.counts();
        return sweep.places.empty() || counts[Outcome::unknown] > 0 ? exit_unknown : exit_pass;
    }

    std::string again(const SweepPlace& place) const {
        return command_line("inject", arguments_.program, {place.line});
    }

    // The step of each column, as its last digit; a dot where there is none.
    static std::string step_digits(const MapRow& row) {
        std::string digits;
        for (const SweepPlace* place : row.places)
            digits += place && place->moment.step >= 0 ? static_cast<char>('0' + place->moment.step % 10) : '.';
        return digits;
    }

    std::string strip(const MapRow& row) const {
        std::string text;
        for (const SweepPlace* place : row.places)
            text += place ? style_.paint(ink_of(place->outcome), explore::sign_of(place->outcome)) : " ";
        return text;
    }

    // What is bad, or names nobody: each way once, with its first place and the command that plays it.
    std::string ways_text(const ProgramSweep& sweep) const {
        std::map<std::size_t, std::size_t> alike;
        for (const SweepPlace& place : sweep.places) ++alike[place.like];
        std::string text;
        for (const auto& [first, count] : alike) {
            const SweepPlace& place = sweep.places[first];
            if (place.outcome <= Outcome::clear_error) continue;
            text += fmt::format("\n  {} {} in {}, first {}: {}\n      {}\n",
                                style_.paint(ink_of(place.outcome), explore::sign_of(place.outcome)),
                                style_.paint(Ink::bold, explore::text_of(place.outcome)),
                                results::counted(count, "place"), where_of(place), place.says,
                                style_.paint(Ink::cyan, again(place)));
        }
        return text;
    }

    std::string text_of(const ProgramSweep& sweep, double seconds) const {
        std::string text;
        std::size_t fault = sweep.faults.size();
        for (const MapRow& row : rows_of(sweep)) {
            if (row.fault != fault) {
                fault = row.fault;
                text += fmt::format("\n  {}  {}\n", style_.paint(Ink::bold, sweep.faults[fault]),
                                    counts_text(sweep.counts(fault), style_));
                text += fmt::format("  {} {}\n", pad_right("step", 14), style_.paint(Ink::dim, step_digits(row)));
            }
            text += fmt::format("  {} {}\n", pad_right(ranks_text(row), 14), strip(row));
        }
        text += ways_text(sweep);
        for (const std::string& sentence : sweep.left_out)
            text += fmt::format("\n  {}\n", style_.paint(Ink::dim, "left out: " + sentence));
        text += fmt::format("\n  {} · {} · {:.1f} s\n", results::counted(sweep.places.size(), "run"),
                            counts_text(sweep.counts(), style_), seconds);
        if (sweep.copied < sweep.places.size() && !sweep.obstacle.empty())
            text += fmt::format("  {} played from the start: {}\n", sweep.places.size() - sweep.copied,
                                sweep.obstacle);
        if (sweep.places.size() < sweep.planned)
            text += fmt::format("  stopped before {} of {} were played\n", sweep.planned - sweep.places.size(),
                                sweep.planned);
        return text;
    }

    Json json_of(const ProgramSweep& sweep) const {
        Json cells = Json::array();
        for (const SweepPlace& place : sweep.places) {
            cells.push_back({{"fault", sweep.faults[place.row]},
                             {"rank", place.moment.rank},
                             {"moment", place.moment.text()},
                             {"step", place.moment.step},
                             {"outcome", explore::name_of(place.outcome)},
                             {"says", place.says},
                             {"alarm", place.alarm},
                             {"took_ns", place.took == results::never ? Json(nullptr) : Json(place.took.count())},
                             {"trace_hash", fmt::format("{:016x}", place.trace_hash)},
                             {"again", again(place)}});
        }
        Json counts = Json::object();
        for (const auto& [outcome, count] : sweep.counts()) counts[std::string(explore::name_of(outcome))] = count;
        return {{"planned", sweep.planned},
                {"counts", counts},
                {"left_out", sweep.left_out},
                {"copied", sweep.copied},
                {"obstacle", sweep.obstacle},
                {"cells", std::move(cells)}};
    }

    std::string markdown_of(const ProgramSweep& sweep) const {
        std::string text = "| fault | ranks | moment | how it ended | places | again |\n|---|---|---|---|---|---|\n";
        std::map<std::size_t, std::vector<const SweepPlace*>> alike;
        for (const SweepPlace& place : sweep.places) alike[place.like].push_back(&place);
        for (const auto& [first, places] : alike) {
            const SweepPlace& place = sweep.places[first];
            std::vector<results::Rank> ranks;
            for (const SweepPlace* one : places) ranks.push_back(one->moment.rank);
            std::sort(ranks.begin(), ranks.end());
            ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
            std::string says = place.says;
            std::replace(says.begin(), says.end(), '|', '/');
            std::replace(says.begin(), says.end(), '\n', ' ');
            text += fmt::format("| {} | {} | {}{} | {}: {} | {} | `{}` |\n", sweep.faults[place.row],
                                ranks.front() == results::no_rank ? "the job" : results::ranges_text(ranks),
                                place.moment.text(), places.size() > 1 ? ", …" : "",
                                explore::text_of(place.outcome), says, places.size(), again(place));
        }
        return text;
    }

    std::vector<results::Case> cases_of(const ProgramSweep& sweep) const {
        std::vector<results::Case> cases;
        for (const SweepPlace& place : sweep.places) {
            results::Case one;
            one.scenario = place.line;
            one.runner = "sim";
            one.seed = arguments_.program.seed;
            one.reason = fmt::format("{}: {}", explore::text_of(place.outcome), place.says);
            one.verdict = fails(place) ? results::Verdict::fail
                          : place.outcome >= Outcome::never_came ? results::Verdict::unknown
                                                                 : results::Verdict::pass;
            one.commands = {again(place)};
            cases.push_back(std::move(one));
        }
        return cases;
    }

    void write_files(const ProgramSweep& sweep, explore::ProgramTrials& trials, Runner& runner, bool stopped) {
        const auto complain = [&](const scenarios::Result<void>& written) {
            if (!written) session_.complain(written.error());
        };
        if (!arguments_.table.empty()) complain(results::write_text(markdown_of(sweep), arguments_.table));
        if (!arguments_.junit.empty()) complain(results::reports::write_junit(cases_of(sweep), arguments_.junit));
        if (!arguments_.html.empty()) complain(write_page(sweep, trials, runner, stopped));
    }

    // One run of each way is played again for the page; after a stop the page has the map alone.
    scenarios::Result<void> write_page(const ProgramSweep& sweep, explore::ProgramTrials& trials, Runner& runner,
                                       bool stopped) const {
        results::reports::Page page;
        for (std::size_t i = 0; i < sweep.places.size() && !stopped; ++i) {
            const SweepPlace& place = sweep.places[i];
            if (place.like != i) continue;
            if (const auto run = trials.play(place.plan, runner)) add_to_page(page, i, *run, place.line, again(place));
        }
        results::reports::MomentMap map;
        for (const MapRow& row : rows_of(sweep)) {
            for (std::size_t column = map.columns.size(); column < row.places.size(); ++column) {
                const SweepPlace* place = row.places[column];
                map.columns.push_back(place ? column_label(place->moment) : "");
            }
            results::reports::MomentRow shown{sweep.faults[row.fault], ranks_text(row), {}, row.ranks.size()};
            for (const SweepPlace* place : row.places) {
                if (!place) {
                    shown.cells.emplace_back();
                    continue;
                }
                shown.cells.push_back(results::reports::MomentCell{
                    std::string(explore::text_of(place->outcome)), std::string(explore::sign_of(place->outcome)),
                    explore::is_bad(place->outcome), where_of(*place), place->says, again(*place),
                    static_cast<std::int64_t>(place->like)});
            }
            map.rows.push_back(std::move(shown));
        }
        page.show_moments(map);
        return page.write(arguments_.html, {}, "class",
                          fmt::format("{} of {}", results::counted(sweep.places.size(), "run"),
                                      fmt::join(arguments_.program.command, " ")));
    }

    const ProgramSweepArguments& arguments_;
    Session& session_;
    Style style_;
};

}  // namespace

const std::vector<std::string>& outcome_words() {
    static const std::vector<std::string> words = [] {
        std::vector<std::string> all;
        for (int i = 0; i <= static_cast<int>(Outcome::unknown); ++i)
            if (explore::is_bad(static_cast<Outcome>(i)))
                all.emplace_back(explore::name_of(static_cast<Outcome>(i)));
        return all;
    }();
    return words;
}

void sweep_program(const ProgramSweepArguments& arguments, Session& session) {
    ProgramSweepCommand(arguments, session)();
}

}  // namespace deadrank::runners::commands
