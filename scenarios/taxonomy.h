// scenarios/taxonomy.h — The bug taxonomy as data: 34 symptoms, 28 root causes, 6 fix patterns, 6 stages.
// Read from taxonomy.toml, which says of each entry whether a paper names it or this project reconstructed
// it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "scenarios/error.h"

namespace deadrank::scenarios {

struct TaxonomyEntry {
    std::string id;
    std::string name;
    std::string definition;
    std::string sign;  // symptoms: how an observer sees it; causes: how it is introduced; fixes: what it does
    std::vector<std::string> stages;  // the first is the primary one
    bool distributed_only = false;
    std::string coarse_class;           // class of the second study
    std::string provenance;             // paper-named, tosem, incident-study, reconstructed
    std::vector<std::string> examples;  // public reports, "owner/repo#123"
};

struct SymptomCausePair {
    std::string symptom;
    std::string cause;
    std::vector<std::string> fixes;
    std::int64_t reports = 0;            // public reports of this pair: the weight that diagnosis uses
    std::vector<std::string> scenarios;  // names, without stage, that were proposed for it
};

// A published table of production incidents.
struct IncidentRow {
    std::string name;
    std::int64_t count = 0;  // 0 = not public
    std::vector<std::string> symptoms;
    std::vector<std::string> causes;
    std::string component;
    std::vector<std::string> scenarios;
};
struct IncidentTable {
    std::string id;
    std::string name;
    std::string source;
    std::vector<IncidentRow> rows;
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
    std::vector<IncidentTable> incidents;
    std::string disclosure;  // what is in print and what is ours, in one sentence

    static Result<Taxonomy> load(const std::filesystem::path& file);
};

// nullptr when there is no such id.
const TaxonomyEntry* find(const std::vector<TaxonomyEntry>& entries, std::string_view id);
std::vector<std::string> ids(const std::vector<TaxonomyEntry>& entries);

}  // namespace deadrank::scenarios
