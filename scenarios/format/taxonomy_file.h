// scenarios/format/taxonomy_file.h — Reads taxonomy.toml, and clues.toml beside it.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "scenarios/format/scenario_file.h"
#include "scenarios/model/vocabulary.h"

namespace deadrank::scenarios {

// Errors name the place of an entry that is incomplete or refers to an id that is not defined.
Result<Taxonomy> load_taxonomy(const std::filesystem::path& file);

// Which causes each feature of the evidence supports: read from clues.toml, added up by a diagnosis.
struct ClueRule {
    std::string id;
    std::string what;                            // when it is there, in one sentence
    std::map<std::string, std::int64_t> points;  // cause → for (above 0) or against (below)
    std::vector<std::string> symptoms;           // it counts only with one of these; empty = with any
};

struct ClueTable {
    std::vector<std::int64_t> detector;  // points of the causes that the detector itself names, in its order
    std::int64_t report = 1;             // points of a public report that carries symptom and cause
    std::int64_t prior_most = 4;         // upper bound of a pair's points
    std::vector<ClueRule> rules;

    static Result<ClueTable> load(const std::filesystem::path& file, const Taxonomy& taxonomy);
};

}  // namespace deadrank::scenarios
