// runners/studies/determinism_check.h — Is a run the same run again: on another thread, in another process,
// with another history?
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runners/line/campaign.h"
#include "runners/studies/print.h"
#include "scenarios/model/error.h"

namespace deadrank::runners {

// This program once more, in a process of its own: other addresses, another history.

// Runs the command to its end and gives back what it wrote on standard output. When `stop` is set it is ended
// within seconds, and what it wrote until then is given back. Errors: environment, when it cannot be started
// or ends in trouble, with its last words.
scenarios::Result<std::string> output_of(const std::vector<std::string>& command,
                                         const std::atomic<bool>& stop);

// One plan is one run: every trial played twice here and once in another process, and compared in events,
// evidence, findings and verdict. Where they differ, the event is named.

// How another process of this program is asked. Each gives the command; both print a line for each answer.
struct Elsewhere {
    std::function<std::vector<std::string>()> prints;  // of all trials
    std::function<std::vector<std::string>(const Job&, scenarios::Variant, const Window&)> trace;
};

struct Checked {
    enum Outcome { same, differs, unknown };
    Outcome outcome = unknown;
    TrialPrint print;     // of the first run
    std::string against;  // which run differs: "the second run here", "the run in another process"
    Disagreement what;    // and in what
    std::optional<Parting> parting;
    std::string reason;  // why it is unknown, or why no event can be named
};

struct CheckOptions {
    LineOptions line = {};
    int threads = 1;
    std::function<void(std::size_t done, std::size_t all)> progress = {};
};

// The prints alone, as another process gives them; `take` is called one at a time, in no order.
void print_all(const std::vector<Job>& jobs, const MakeRunner& make_runner,
               const scenarios::Vocabulary& vocabulary, const CheckOptions& options,
               const std::function<void(const TrialPrint&)>& take);

// In the order of `jobs`; what a stop left unplayed is left out.
std::vector<Checked> check_all(const std::vector<Job>& jobs, const MakeRunner& make_runner,
                               const scenarios::Vocabulary& vocabulary, const Elsewhere& elsewhere,
                               const CheckOptions& options);

// One variant of a trial, with a window of its trace kept.
scenarios::Result<Traced> trace_one(const Job& job, scenarios::Variant variant, const Window& window,
                                    Runner& runner, const scenarios::Vocabulary& vocabulary,
                                    const LineOptions& options);

}  // namespace deadrank::runners
