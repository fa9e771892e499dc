// runners/web/classroom.h — Class mode: learners look for the bug of a run that was played, and try to fix
// it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "results/record/blame.h"
#include "results/reports/json_files.h"
#include "runners/pipeline/library.h"
#include "runners/serve/http.h"
#include "runners/web/jobs.h"
#include "runners/web/orders.h"

namespace deadrank::runners::web {

// What a guess, a look or a hint costs. A bug that is found and fixed without any is worth `worth`.
struct Prices {
    int worth = 100, hint = 10, wrong = 15;
};

// A piece of evidence that a learner may buy.
struct Look {
    std::string title;
    int costs = 0;
    std::string shows;  // JSON: {lines} or {run} or {waits}
};

// A repair that a learner may choose.
struct Fix {
    std::string says;
    // What it changes in this job, as path and TOML: {"cluster.launcher", "\"torchrun\""}. Of the bug's own
    // fix, which is its healed run, nothing.
    std::vector<std::pair<std::string, std::string>> settings;
};

// One bug of the class as it is played and asked about. What a learner has not found yet is never sent.
struct Puzzle {
    std::string scenario, symptom_seen, question;
    std::string watched, reported;     // who bounds a wait; what only the bug's report says
    std::vector<std::string> seen;     // what the run shows, in sentences
    std::vector<std::string> program;  // its lines, as every rank ran it; empty: the workload is no program
    std::uint64_t seed = 1;
    std::vector<std::string> hints;
    std::vector<Look> looks;
    std::vector<results::Rank> culprits;  // empty: no rank is asked for
    std::optional<std::int64_t> step;     // absent: no step is asked for
    std::string cause;                    // id
    std::vector<Fix> fixes;               // one of them is the bug's own
    std::size_t right_fix = 0;
    std::string answer, why;
    std::int64_t ranks = 0;
};

// Plays each scenario in a child process and makes a puzzle of its evidence alone. Errors: those of the runs.
scenarios::Result<std::vector<Puzzle>> make_puzzles(const Library& library,
                                                    const std::vector<std::string>& ids, std::uint64_t seed,
                                                    const OrderOptions& options, Jobs& jobs,
                                                    const std::atomic<bool>& stop);

// Ids of a file, one a line; '#' begins a comment. Otherwise `words` itself, between commas.
scenarios::Result<std::vector<std::string>> class_ids(const std::string& words);

class Classroom {
public:
    struct Options {
        std::string learners, teacher;  // the random parts of their addresses
        OrderOptions order;
        JobLimits jobs;  // how many may wait follows from the puzzles: equal tries are one run
        Prices prices;
        std::size_t learners_most = 200;
    };
    Classroom(const Library& library, std::vector<Puzzle> puzzles, Options options);
    ~Classroom();

    // Safe to call from several threads.
    serve::HttpResponse answer(const serve::HttpRequest& request);

private:
    struct Learner;
    struct Progress;
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

}  // namespace deadrank::runners::web
