// results/diagnosis/clue.h — A feature of the evidence beside a finding: what sets causes of one symptom
// apart. Which cause it speaks for is data (scenarios/clues.toml); here it is only seen. Blind, as detectors
// are.
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

// Every id that may come; a test holds them against the table.
std::vector<std::string_view> all_clues();

// The files: each adds what it sees.
using Clues = std::vector<Clue>;
void environment_clues(const Evidence& evidence, const Finding& finding, Clues& clues);
void machine_clues(const Evidence& evidence, const Finding& finding, Clues& clues);
void communication_clues(const Evidence& evidence, const Finding& finding, Clues& clues);
void value_clues(const Evidence& evidence, const Finding& finding, Clues& clues);
void state_clues(const Evidence& evidence, const Finding& finding, Clues& clues);

// True when `rank` is among those that the finding blames; of a finding that blames nobody, any rank is.
bool blamed(const Finding& finding, Rank rank);

}  // namespace deadrank::results::diagnosis
