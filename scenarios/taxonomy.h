// scenarios/taxonomy.h — The bug taxonomy as data: 34 symptoms, 28 root causes, 6 fix patterns, 6 stages.
// Read from taxonomy.toml, which says of each entry whether a paper names it or this project reconstructed it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "scenarios/error.h"

namespace deadrank::scenarios {

struct TaxonomyEntry {
    std::string id;
    std::string name;
    std::string definition;
    std::string sign;                  // symptoms: how an observer sees it; causes: how it is introduced; fixes: what it does
    std::vector<std::string> stages;   // the first is the primary one
    bool distributed_only = false;
    std::string coarse_class;          // class of the second study
    std::string provenance;            // paper-named, tosem, incident-study, reconstructed
    std::vector<std::string> examples; // public reports, "owner/repo#123"
};

struct SymptomCausePair {
    std::string symptom;
    std::string cause;
    std::vector<std::string> fixes;
};

// One of the five bug classes the project is named for.
struct ProjectClass {
    std::string id;
    std::string name;
    std::vector<std::string> symptoms;
    std::vector<std::string> causes;
};

struct Taxonomy {
    std::vector<TaxonomyEntry> stages;
    std::vector<TaxonomyEntry> symptoms;
    std::vector<TaxonomyEntry> causes;
    std::vector<TaxonomyEntry> fixes;
    std::vector<SymptomCausePair> pairs;
    std::vector<ProjectClass> classes;

    static Result<Taxonomy> load(const std::filesystem::path& file);
};

// nullptr when there is no such id.
const TaxonomyEntry* find(const std::vector<TaxonomyEntry>& entries, std::string_view id);
std::vector<std::string> ids(const std::vector<TaxonomyEntry>& entries);

}  // namespace deadrank::scenarios
