// runners/storm/storm_study.h — Plays a storm: a segment of the job around each incident, with the fault
// and without. The time between is quiet by construction and is accounted for, not played.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runners/pipeline/play_trial.h"
#include "runners/pipeline/workers.h"
#include "scenarios/format/storm_file.h"

namespace deadrank::runners {

struct StruckIncident {
    scenarios::Incident incident;
    std::string scenario;   // id; empty = the catalog has none for this row
    std::string trouble;    // why it was not played
    bool detected = false;  // a detector rang in the faulty segment
    bool named = false;     // the right symptom and the right culprit, in time
    results::Time to_detect{0};
    std::size_t false_alarms = 0;  // findings in the quiet segment
    results::Time lost{0};         // repeated work, plus the time until training resumed
};

struct StormRow {
    std::size_t struck = 0, played = 0, detected = 0, named = 0, false_alarms = 0;
    results::Time lost{0};
    std::vector<results::Time> to_detect;  // of those detected
};

struct StormCard {
    std::vector<StruckIncident> incidents;  // in order of time
    StormRow all;
    std::map<std::string, StormRow> rows;  // by row of the table; only those that struck
    bool stopped = false;

    void add(StruckIncident one);
};

struct StormOptions {
    int threads = 1;
    std::atomic<bool>* stop = nullptr;
    std::function<void(std::size_t done, std::size_t all)> progress = {};
};

// `catalog`: all scenarios; those of a row are found by name.
StormCard play_storm(const scenarios::Storm& storm, std::uint64_t seed,
                     const std::vector<scenarios::Scenario>& catalog, const scenarios::Vocabulary& vocabulary,
                     const MakeRunner& make_runner, const StormOptions& options);

}  // namespace deadrank::runners
