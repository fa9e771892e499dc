// runners/watch/watch.h — Runs a user's own program, unmodified, with our hook in its ranks: reads what they
// record while they run, and reports each alarm when it first rings. Nothing is played, injected, ended or
// limited; the program keeps our terminal, our signals and its own exit code.
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
    std::int64_t step = -1;      // the last finished one
    results::Time step_took{0};  // how long it took
    results::Time last_sign{0};  // time of its last event
    bool alive = true;
    bool watched = true;  // false: its evidence is lost from here on
};

// The job's state; times since its start.
struct JobStatus {
    results::Time now{0};
    std::map<results::Rank, RankState> ranks;
    std::vector<results::Finding> rang;  // in the order of ringing
    double own_seconds = 0;              // processor time that watching has used so far
};

struct Ringing {
    results::Finding finding;
    std::string stacks;  // stacks of the blamed ranks; only for a hang
};

struct WatchSpec {
    std::vector<std::string> command;
    std::filesystem::path hook;       // put in front of PYTHONPATH
    std::filesystem::path directory;  // for the hooks' files; must exist
    std::function<void(const Ringing&)> ring;
    std::map<std::string, std::string> variables = {};  // of the program, instead of our own
    std::function<void(const JobStatus&)> stand = {};   // after each look
    std::function<void(const std::string&)> tell = {};  // a setting that differs between ranks: no alarm
    std::function<void(const std::string&)> note = {};  // what cannot be seen in this program, once it trains
};

struct Watched {
    results::Evidence evidence;
    std::vector<results::Finding> rang;
    int code = 0, signal = 0;  // how the command ended
    results::Time lasted{0};
    std::vector<std::string> differing;  // settings that differ between ranks, one sentence each
    std::vector<std::string> notes;      // what was not watched, and why, unless `note` was told
    bool nothing = false;                // no rank was watched: silence says nothing about the program
};

// Returns when the command has ended. Errors: environment (it cannot be started).
scenarios::Result<Watched> watch(const WatchSpec& spec);

}  // namespace deadrank::runners::watch
