// runners/find/sweep.h — One job with every fault at every place and time: a map of what is caught and what
// is not.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runners/find/harm.h"
#include "runners/find/passes.h"
#include "runners/pipeline/workers.h"

namespace deadrank::runners::find {

// From best to worst.
enum class Caught {
    not_applied,  // the fault was not triggered there
    harmless,     // the job took no harm, and no detector rang
    named,        // a finding names a culprit
    noticed,      // a finding names no rank
    late,         // by the scenario's own expectation alone
    misnamed,     // another rank is blamed, or another symptom is reported
    missed,       // the job took harm, and no detector rang
    untold,       // it could not be played, or a detector crashed
};
std::string_view name_of(Caught);
std::string_view sign_of(Caught);  // one column wide

struct SweepCell {
    std::size_t row = 0;
    std::int64_t rank = -1;  // -1: it aims at the whole job
    std::int64_t step = -1;  // -1: it acts before the job
    std::string phase;       // empty = the beginning of the step
    Caught caught = Caught::untold;
    Harm harm = Harm::none;
    results::Time after = results::never;  // from the fault to the first finding
    std::string says;                      // what was reported, or why it is unknown
};

struct SweepOptions {
    scenarios::Plan base;  // its faults are the rows when `own`, and are left out otherwise
    const scenarios::Vocabulary* words = nullptr;
    bool own = false;  // the scenario's own faults, judged by its own expectation
    bool pairwise = false;
    std::vector<std::string> kinds;   // empty = all
    std::vector<std::int64_t> ranks;  // empty = all
    std::vector<std::int64_t> steps;  // empty = all
    std::vector<std::string> phases;  // empty = the beginning of the step alone
    const results::Detectors* detectors = nullptr;
    Workers workers;
};

struct Sweep {
    std::vector<std::string> rows;      // labels
    std::vector<SweepCell> cells;       // by row, step, phase, rank; after a stop those that were played
    std::vector<std::string> left_out;  // sentences
    std::size_t planned = 0;

    std::map<Caught, std::size_t> counts() const;
    std::map<Caught, std::size_t> counts(std::size_t row) const;
};

Sweep sweep(const SweepOptions& options);

}  // namespace deadrank::runners::find
