// results/diagnosis/clue.h — A feature of the evidence, apart from the finding, that distinguishes the causes
// of one symptom. Which cause it supports is data (scenarios/clues.toml); here it is only found. Like
// detectors, it never sees the truth.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "results/record/evidence.h"
#include "results/record/finding.h"

namespace deadrank::results::diagnosis {

struct Clue {
    std::string_view id;
    std::string says;  // one sentence with the numbers seen
};

// In the order of the files below. Each id at most once.
std::vector<Clue> clues_in(const Evidence& evidence, const Finding& finding);

// Every id that may occur; a test compares them with the table.
std::vector<std::string_view> all_clues();

// One function per file: each adds what it sees.
using Clues = std::vector<Clue>;
void environment_clues(const Evidence& evidence, const Finding& finding, Clues& clues);
void machine_clues(const Evidence& evidence, const Finding& finding, Clues& clues);
void communication_clues(const Evidence& evidence, const Finding& finding, Clues& clues);
void value_clues(const Evidence& evidence, const Finding& finding, Clues& clues);
void state_clues(const Evidence& evidence, const Finding& finding, Clues& clues);

// True when the finding blames `rank`, or blames no rank at all.
bool blamed(const Finding& finding, Rank rank);

}  // namespace deadrank::results::diagnosis
