// tests/support/program_play.h — A step that a test writes, played by all ranks of a small cluster.
#pragma once

#include <string>
#include <vector>

#include "results/detectors/detector.h"
#include "results/record/evidence.h"
#include "tests/support/healthy_run.h"

namespace deadrank::tests {

inline const Words four_ranks = {{"gpus_per_node", "4"}, {"nodes", "1"}};
inline const Words two_ranks = {{"gpus_per_node", "2"}, {"nodes", "1"}};

inline runners::Record play_program(const std::string& step, const Words& cluster = two_ranks,
                                    const std::string& setup = "", const Words& more = {}) {
    Words settings = {{"steps", "1"}, {"step", step}, {"setup", setup}};
    for (const auto& [name, value] : more) settings[name] = value;
    return played(plan_of("program", settings, cluster));
}

inline std::vector<std::string> symptoms_in(const runners::Record& record) {
    std::vector<std::string> found;
    for (const auto& finding : results::detect(record.evidence, results::all_detectors()))
        found.push_back(finding.symptom);
    return found;
}

// What a rank said before it ended with an error; empty where it did not.
inline std::string last_words(const runners::Record& record, results::Rank rank = 0) {
    std::string said;
    for (const results::Event* event : record.evidence.each<results::RankLog>()) {
        const auto* line = event->as<results::RankLog>();
        if (event->rank == rank && line->level == 2) said = record.evidence.text(line->line);
    }
    const auto newline = said.find('\n');
    return newline == std::string::npos ? said : said.substr(newline + 1);
}

// How many ranks came to their end without an error: one that waits for ever says nothing either.
inline int ended_well(const runners::Record& record) {
    int ended = 0;
    for (const results::Event* event : record.evidence.each<results::RankExit>())
        ended += event->as<results::RankExit>()->code == 0;
    return ended;
}

}  // namespace deadrank::tests
