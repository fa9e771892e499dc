// runners/find/determinism_check.h — Does a run repeat exactly: on another thread, in another process,
// after other runs?
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runners/find/run_digest.h"
#include "runners/pipeline/campaign.h"
#include "scenarios/model/error.h"

namespace deadrank::runners::find {

// This program again, in a process of its own: other addresses, another history.
// Runs the command to its end and returns what it wrote to standard output. When `stop` is set it is ended
// within seconds, and its output so far is returned. Errors: environment, when it cannot be started or fails,
// with the end of its output.
scenarios::Result<std::string> output_of(const std::vector<std::string>& command,
                                         const std::atomic<bool>& stop);

// ── One plan gives one run: every trial is played twice here and once in another process, and compared in
// events, evidence, findings and verdict. If they differ, the event is named.

// How another process of this program is started. Each function returns a command, which prints one line per
// answer.
struct OtherProcess {
    std::function<std::vector<std::string>()> prints;  // of all trials
    std::function<std::vector<std::string>(const Job&, scenarios::Variant, const Window&)> trace;
};

struct Checked {
    enum Agreement { same, differs, unknown };
    Agreement outcome = unknown;
    TrialDigest print;    // of the first run
    std::string against;  // which run differs: "the second run here", "the run in another process"
    Disagreement what;    // what differs
    std::optional<Divergence> divergence;
    std::string reason;  // why it is unknown, or why no event can be named
};

struct CheckOptions {
    PipelineOptions line = {};
    int threads = 1;
    std::function<void(std::size_t done, std::size_t all)> progress = {};
};

// Only the prints, for the other process; `take` is called one at a time, in any order.
void print_all(const std::vector<Job>& jobs, const MakeRunner& make_runner,
               const scenarios::Vocabulary& vocabulary, const CheckOptions& options,
               const std::function<void(const TrialDigest&)>& take);

// In the order of `jobs`, without those that a stop left unplayed.
std::vector<Checked> check_all(const std::vector<Job>& jobs, const MakeRunner& make_runner,
                               const scenarios::Vocabulary& vocabulary, const OtherProcess& elsewhere,
                               const CheckOptions& options);

// One variant of a trial, with a window of its trace kept.
scenarios::Result<Traced> trace_one(const Job& job, scenarios::Variant variant, const Window& window,
                                    Runner& runner, const scenarios::Vocabulary& vocabulary,
                                    const PipelineOptions& options);

}  // namespace deadrank::runners::find
