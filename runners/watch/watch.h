// runners/watch/watch.h — A user's own program, started as it is, with our hook in its ranks: what they show
// is read while they run, and every alarm is told when it first rings. Nothing is played, injected, ended or
// bounded, and the program has our terminal, our signals and its own exit code.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "results/record/evidence.h"
#include "results/record/finding.h"
#include "scenarios/model/error.h"

namespace deadrank::runners::watch {

struct RankState {
    std::int64_t step = -1;      // last one that it ended
    results::Time step_took{0};  // that one
    results::Time last_sign{0};  // of any event
    bool alive = true;
};

// How the job stands, since its start.
struct JobStatus {
    results::Time now{0};
    std::map<results::Rank, RankState> ranks;
    std::vector<results::Finding> rang;  // in the order in which they rang
    double own_seconds = 0;              // of processor time that watching has taken so far
};

struct Ringing {
    results::Finding finding;
    std::string stacks;  // of the ranks that it names, as they stood; for a hang
};

struct WatchSpec {
    std::vector<std::string> command;
    std::filesystem::path hook;       // what goes before PYTHONPATH
    std::filesystem::path directory;  // for the hooks' files; has to be there
    std::function<void(const Ringing&)> ring;
    std::function<void(const JobStatus&)> stand = {};  // after each look
    std::function<void(const std::string&)> tell = {};  // a setting that ranks do not share: no alarm
};

struct Watched {
    results::Evidence evidence;
    std::vector<results::Finding> rang;
    int code = 0, signal = 0;  // how the command ended
    results::Time lasted{0};
    std::vector<std::string> differing;  // settings that ranks do not share, one sentence each
    std::vector<std::string> notes;  // what was not watched, and why; one sentence each
};

// Returns when the command has ended. Errors: environment (it cannot be started).
scenarios::Result<Watched> watch(const WatchSpec& spec);

}  // namespace deadrank::runners::watch
