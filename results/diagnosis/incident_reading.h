// results/diagnosis/incident_reading.h — What the logs of an incident say: what happened, which rank began
// it, and whether anything was understood at all. A log that was not understood is "unknown", never
// "healthy".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "results/analysis/signatures.h"
#include "results/record/evidence.h"
#include "results/record/finding.h"

namespace deadrank::results::diagnosis {

enum class IncidentOutcome {
    healthy,    // a run of our own in which no detector found anything
    completed,  // a log proves that the job completed
    found,      // a bug was identified
    stopped,    // a person or a limit ended it from outside
    unknown,    // it failed and no line says why, or nothing was understood
};
std::string_view name_of(IncidentOutcome outcome);

// A line of the log, or a block of them, as it was printed.
struct Quote {
    Rank rank = no_rank;
    Time at{0};
    std::string text;
    bool of_parent = false;  // a parent's word on how its child ended
};

using analysis::StopKind;

// Whose devices the log is about: tools and variables differ.
enum class Vendor { nvidia, amd, ascend, intel, habana, tpu };
std::string_view name_of(Vendor vendor);

// A cause, and what in the log speaks for it.
struct SpokenCause {
    std::string cause, words, line;  // the phrase, and the whole line; or the pattern of ranks
};

// What a finding that words gave has as its detector.
inline constexpr std::string_view log_reading = "log_reading";

struct Incident {
    IncidentOutcome outcome = IncidentOutcome::unknown;
    std::optional<Finding> finding;
    std::vector<SpokenCause> spoken;  // of a finding that words gave
    std::vector<Quote> lines;  // what supports it; if unknown, what sounds most like the cause
    std::string user_code;     // "train.py, line 55", when the error was raised in the job's own program
    std::vector<Rank> ended;   // which ranks left first, where only that is known
    StopKind stop = StopKind::none;
    std::string stopped_by;                   // "Slurm's time limit at 2026-01-31T10:00:00"
    std::vector<Rank> silent_first;           // of a job that printed nothing for long before it was stopped
    Time silence{0};                          // how long
    bool lines_name_ranks = false;            // else whose silence it is is not known
    std::vector<std::string> devices, hosts;  // "GPU 0000:41:00", "node7", as the log names them
    Vendor vendor = Vendor::nvidia;
    int sure = 0;  // 3 the rank's own error · 2 the ranks that wait say it · 1 only how processes ended
    analysis::LogRead reading;
};

// Evidence that import made of logs and dumps.
bool is_imported(const Evidence& evidence);

// `findings` are the detectors'. Dumps that show which rank was in which collective know more than words do.
Incident read_incident(const Evidence& evidence, const std::vector<Finding>& findings);

// Time-outs of collectives, as the waiting ranks print them: which ranks are to blame, and why.
struct Waited {
    std::vector<Rank> blamed;  // empty when the lines do not say
    std::string says;
    scenarios::Cause cause = scenarios::Cause::none;  // what this pattern of ranks speaks for
};
Waited find_awaited_rank(const Evidence& evidence, const analysis::LogRead& reading);

}  // namespace deadrank::results::diagnosis
