// runners/explore/program_sweep.h — Each fault at each rank and each moment of a user's program: how does it
// end?
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runners/explore/moments.h"
#include "runners/explore/program_trials.h"
#include "runners/pipeline/workers.h"
#include "scenarios/model/plan.h"
#include "scenarios/model/vocabulary.h"

namespace deadrank::runners::explore {

// A fault at a moment, and what the program did.
struct SweepPlace {
    std::size_t row = 0;      // of ProgramSweep::faults
    std::size_t column = 0;   // the moment's number, from 0, among those of its rank
    ProgramMoment moment;     // its rank is -1 for a fault that aims at no rank
    std::string line;         // the fault as inject takes it
    Outcome outcome = Outcome::unknown;
    std::string alarm;        // as ProgramRun::alarm()
    std::string says;
    results::Time took = results::never;  // from the fault to the end of the job
    std::uint64_t trace_hash = 0;         // of the run
    std::size_t like = 0;     // the first place that ended alike: its index in `places`
    scenarios::Plan plan = {};
};

struct ProgramSweep {
    std::vector<std::string> faults;  // as asked for, without a moment
    std::vector<SweepPlace> places;   // by fault, rank and moment; after a stop those that were played
    std::size_t planned = 0;
    std::vector<std::string> left_out;  // sentences
    std::size_t copied = 0;  // places whose run was copied at its moment: what comes before was played once
    std::string obstacle;    // why the others were played from the start; empty: there are none

    std::map<Outcome, std::size_t> counts() const;
    std::map<Outcome, std::size_t> counts(std::size_t row) const;
};

struct ProgramSweepOptions {
    std::vector<std::string> faults;  // lines without a rank and a moment: "kill", "delay 45min", "disk full"
    MomentKind moments = MomentKind::calls;  // for faults that aim at a rank and alter no call
    std::vector<std::int64_t> ranks, steps;  // empty = all
    const scenarios::Vocabulary* words = nullptr;
    Workers workers;
};

// Errors: usage, for a fault that names a moment of its own, or one that no moment of the program fits.
scenarios::Result<ProgramSweep> sweep_program(ProgramTrials& trials, const ProgramSweepOptions& options);

}  // namespace deadrank::runners::explore
