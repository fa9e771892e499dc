// runners/explore/program_sweep.cpp — The healthy run says which moments there are; each becomes a plan.
#include "runners/explore/program_sweep.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>

#include "runners/backend/branches.h"
#include "runners/backend/copies.h"
#include "scenarios/format/fault_expression.h"
#include "scenarios/format/plan_file.h"

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

void note(SweepPlace& place, const Result<ProgramRun>& run) {
    if (!run) {
        place.says = run.error().text();
        return;
    }
    place.outcome = run->outcome;
    place.alarm = run->alarm();
    place.says = run->says;
    place.trace_hash = run->fault.record.trace_hash;
    if (run->fault_at() != results::never) place.took = run->fault.record.ended - run->fault_at();
}

// What a copy of this process sends of its place, and what this one reads.
std::string text_of(const SweepPlace& place) {
    return nlohmann::json{{"outcome", static_cast<int>(place.outcome)},
                          {"alarm", place.alarm},
                          {"says", place.says},
                          {"took", place.took.count()},
                          {"trace_hash", place.trace_hash}}
        .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

bool read_text(const std::string& text, SweepPlace& place) {
    const auto said = nlohmann::json::parse(text, nullptr, false);
    if (!said.is_object()) return false;
    place.outcome = static_cast<Outcome>(said.at("outcome").get<int>());
    place.alarm = said.at("alarm").get<std::string>();
    place.says = said.at("says").get<std::string>();
    place.took = results::Time(said.at("took").get<std::int64_t>());
    place.trace_hash = said.at("trace_hash").get<std::uint64_t>();
    return true;
}

// Plays places in copies of one run, each from its moment on. Those for which the run cannot be copied there are
// played from the start, in copies too.
class BranchedPlaces final : public Branches {
public:
    BranchedPlaces(ProgramTrials& trials, ProgramSweep& sweep, const Workers& workers)
        : trials_(trials),
          sweep_(sweep),
          places_(sweep.places),
          workers_(workers),
          played_(places_.size()),
          copies_(workers.threads, workers.stop, [this](std::size_t place, const std::string& text) {
              played_[place] = read_text(text, places_[place]);
              if (!played_[place]) return;
              if (!from_start_) ++sweep_.copied;
              if (workers_.progress) workers_.progress(++done_, places_.size());
          }) {}

    // Which places were played. The rest was stopped, or ended without an answer.
    std::vector<char> play(Runner& runner) {
        for (const bool from_start : {false, true}) {
            from_start_ = from_start;
            plan_ = trials_.healthy();
            of_fault_.clear();
            for (std::size_t i = 0; i < places_.size(); ++i) {
                if (played_[i]) continue;
                plan_.faults.push_back(places_[i].plan.faults.front());
                of_fault_.push_back(i);
            }
            if (of_fault_.empty() || stopped()) break;
            plan_.variant = places_.front().plan.variant;
            if (const auto run = trials_.play_branches(plan_, runner, *this); !run) trouble_ = run.error().text();
            copies_.wait();
        }
        copies_.wait();
        for (std::size_t i = 0; i < places_.size() && !stopped(); ++i) {
            if (played_[i]) continue;
            places_[i].says = trouble_.empty() ? "the process that played it ended without an answer" : trouble_;
            played_[i] = true;
        }
        return std::move(played_);
    }

    bool from_start() const override { return from_start_; }
    pid_t fork(std::size_t fault) override { return copies_.fork(place_ = of_fault_[fault]); }
    void leave_out(std::size_t, std::string_view why) override {
        if (sweep_.obstacle.empty()) sweep_.obstacle = why;
    }
    void await_copies() override { copies_.wait(); }
    [[noreturn]] void finish(Result<Record> record) override {
        SweepPlace& place = places_[place_];
        if (record)
            note(place, trials_.judge(place.plan, std::move(*record)));
        else
            place.says = record.error().text();
        copies_.answer(stopped() ? "" : text_of(place));
    }

private:
    bool stopped() const { return workers_.stop && workers_.stop->load(); }

    ProgramTrials& trials_;
    ProgramSweep& sweep_;
    std::vector<SweepPlace>& places_;
    const Workers& workers_;
    std::vector<char> played_;
    std::size_t done_ = 0;
    Copies copies_;
    bool from_start_ = false;
    std::string trouble_;                 // of the run that was copied last
    scenarios::Plan plan_;                // of the places that are not played yet
    std::vector<std::size_t> of_fault_;   // the place of each fault of that plan
    std::size_t place_ = 0;               // of this process, in a copy
};

std::vector<char> play_places(ProgramTrials& trials, ProgramSweep& sweep, Runner& runner,
                              const Workers& workers) {
    std::vector<SweepPlace>& places = sweep.places;
    const auto can = runner.can_branch();
    if (can) return BranchedPlaces(trials, sweep, workers).play(runner);
    sweep.obstacle = can.error().what;
    std::vector<char> played(places.size());
    for_each_index(places.size(), workers, [&](std::size_t i, Runner& one) {
        note(places[i], trials.play(places[i].plan, one));
        played[i] = !workers.stop || !workers.stop->load();
    });
    return played;
}

// Two places ended alike if fault, outcome, alarm and the words without numbers are the same.
std::string similarity_key(const SweepPlace& place) {
    return fmt::format("{}/{}/{}{}", place.row, name_of(place.outcome), place.alarm,
                       words_without_numbers(place.says));
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
    const std::vector<char> played = play_places(trials, sweep, *first, options.workers);
    std::vector<SweepPlace> kept;
    std::map<std::string, std::size_t> alike;
    for (std::size_t i = 0; i < sweep.places.size(); ++i) {
        if (!played[i]) continue;
        SweepPlace& place = sweep.places[i];
        place.like = alike.emplace(similarity_key(place), kept.size()).first->second;
        kept.push_back(std::move(place));
    }
    sweep.places = std::move(kept);
    return sweep;
}

}  // namespace deadrank::runners::explore
