// runners/explore/program_sweep.cpp — The healthy run says which moments there are; each becomes a plan.
#include "runners/explore/program_sweep.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "scenarios/format/fault_expression.h"
#include "scenarios/format/plan_file.h"
#include "scenarios/model/text.h"

namespace deadrank::runners::explore {

namespace {

using scenarios::ErrorCode;
using scenarios::FaultSettings;
using scenarios::refuse;
using scenarios::Result;

bool has_parameter(const scenarios::Kind& kind, std::string_view name) {
    return std::any_of(kind.parameters.begin(), kind.parameters.end(),
                       [&](const scenarios::Parameter& one) { return one.name == name; });
}

bool pulls(const scenarios::Kind& kind, std::string_view lever) {
    return std::any_of(kind.levers.begin(), kind.levers.end(),
                       [&](const std::string& one) { return one.starts_with(lever); });
}

// Where a fault of this kind makes a difference.
MomentKind moments_for(const scenarios::Kind& kind, MomentKind asked) {
    if (pulls(kind, "alter_call")) return MomentKind::calls;
    if (pulls(kind, "change_storage")) return MomentKind::files;
    return asked;
}

template <class T>
bool chosen(const std::vector<std::int64_t>& of, T one) {
    return of.empty() || std::find(of.begin(), of.end(), one) != of.end();
}

// The places of one fault.
Result<void> add_places(const ProgramTrials& trials, const results::Evidence& healthy,
                        const ProgramSweepOptions& options, std::size_t row, ProgramSweep& sweep) {
    const std::string& words = options.faults[row];
    auto plain = scenarios::read_fault_expression(words, *options.words);
    if (!plain) return tl::unexpected(plain.error());
    if (!plain->when.values.empty())
        return refuse(ErrorCode::usage, fmt::format("'{}' names its moment", words),
                      "a sweep tries all moments: leave it out, or play that one with deadrank inject");
    const scenarios::Kind& kind = *options.words->fault(plain->kind);
    if (kind.at_start)
        return refuse(ErrorCode::usage, fmt::format("{} acts before the program starts", plain->kind),
                      "play it with deadrank inject");
    const bool of_rank = has_parameter(kind, "rank");
    std::map<results::Rank, std::size_t> columns;
    std::set<std::pair<std::string, std::int64_t>> tried;  // of a fault that aims at no rank
    std::size_t found = 0;
    for (ProgramMoment moment : list_moments(healthy, moments_for(kind, options.moments))) {
        const std::size_t column = columns[moment.rank]++;
        if (!chosen(options.steps, moment.step) || !chosen(options.ranks, moment.rank)) continue;
        if (!of_rank && !tried.emplace(moment.call, moment.nth + moment.step * moment.call.empty()).second)
            continue;
        std::string line = words;
        if (of_rank) line += fmt::format(" rank {}", moment.rank);
        line += " " + moment.text();
        auto fault = scenarios::read_fault_expression(line, *options.words);
        if (!fault) return tl::unexpected(fault.error());
        auto plan = scenarios::with_faults(trials.healthy(), {std::move(*fault)}, *options.words);
        if (!plan) return tl::unexpected(plan.error());
        plan->variant = scenarios::Variant::fault;
        if (!of_rank) moment.rank = results::no_rank;
        sweep.places.push_back({.row = row, .column = column, .moment = std::move(moment), .line = line});
        sweep.places.back().plan = std::move(*plan);
        ++found;
    }
    if (found == 0)
        sweep.left_out.push_back(fmt::format(
            "{}: the program has no such moment: {}", words,
            describe_moments(healthy, options.ranks.empty() ? 0
                                                            : static_cast<results::Rank>(options.ranks[0]))));
    return {};
}

void play_place(ProgramTrials& trials, Runner& runner, SweepPlace& place) {
    const auto run = trials.play(place.plan, runner);
    if (!run) {
        place.says = run.error().text();
        return;
    }
    place.outcome = run->outcome;
    place.alarm = run->alarm();
    place.says = run->says;
    if (run->fault_at() != results::never) place.took = run->fault.record.ended - run->fault_at();
}

// Two places ended alike if fault, outcome, alarm and the words without numbers are the same.
std::string likeness(const SweepPlace& place) {
    std::string key = fmt::format("{}/{}/{}", place.row, name_of(place.outcome), place.alarm);
    for (const std::string_view word : scenarios::parts_of(place.says, ' ')) {
        const bool number = word.find_first_of("0123456789") != std::string_view::npos || word == "nan" ||
                            word == "inf";
        key += number ? " #" : fmt::format(" {}", word);
    }
    return key;
}

}  // namespace

std::map<Outcome, std::size_t> ProgramSweep::counts() const {
    std::map<Outcome, std::size_t> counts;
    for (const SweepPlace& place : places) ++counts[place.outcome];
    return counts;
}

std::map<Outcome, std::size_t> ProgramSweep::counts(std::size_t row) const {
    std::map<Outcome, std::size_t> counts;
    for (const SweepPlace& place : places)
        if (place.row == row) ++counts[place.outcome];
    return counts;
}

Result<ProgramSweep> sweep_program(ProgramTrials& trials, const ProgramSweepOptions& options) {
    const auto first = options.workers.make_runner();
    const auto control = trials.control(*first);
    if (!control) return tl::unexpected(control.error());
    ProgramSweep sweep{.faults = options.faults, .places = {}, .planned = 0, .left_out = {}};
    for (std::size_t row = 0; row < options.faults.size(); ++row) {
        if (auto added = add_places(trials, (*control)->record.evidence, options, row, sweep); !added)
            return tl::unexpected(added.error());
    }
    sweep.planned = sweep.places.size();
    std::vector<char> played(sweep.places.size());
    for_each_index(sweep.places.size(), options.workers, [&](std::size_t i, Runner& runner) {
        play_place(trials, runner, sweep.places[i]);
        played[i] = !options.workers.stop || !options.workers.stop->load();
    });
    std::vector<SweepPlace> kept;
    std::map<std::string, std::size_t> alike;
    for (std::size_t i = 0; i < sweep.places.size(); ++i) {
        if (!played[i]) continue;
        SweepPlace& place = sweep.places[i];
        place.like = alike.emplace(likeness(place), kept.size()).first->second;
        kept.push_back(std::move(place));
    }
    sweep.places = std::move(kept);
    return sweep;
}

}  // namespace deadrank::runners::explore
