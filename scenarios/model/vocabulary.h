// scenarios/model/vocabulary.h — The words a scenario may use: fault kinds and workload kinds with their
// parameters. `inject` and `sim` declare theirs as data; the loader refuses every other word and
// names the nearest.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "scenarios/model/error.h"
#include "scenarios/model/value.h"

namespace deadrank::scenarios {

struct Parameter {
    std::string name;
    ValueType type = ValueType::integer;
    std::string fallback = {};              // text form of the default; empty and not optional = required
    std::string what = {};                  // one sentence for help texts and the editor schema
    std::vector<std::string> choices = {};  // for ValueType::choice
    bool optional = false;                  // may be absent without a default
    std::int64_t least = INT64_MIN;         // numbers: the minimum
    std::string divides = {};               // the setting that it must divide without a remainder
    std::string needs = {};  // the setting without which it has no effect; "a or b" where either will do
    // Texts: a file beside the scenario whose name ends so stands for its content.
    std::vector<std::string> suffixes = {};
};

// A phase of a step that a workload's ranks enter.
struct PhaseWord {
    std::string name;
    std::string needs = {};  // setting without which they never do; "a or b" where one will do
};

// Whether any of the settings that `needs` names, "a or b", is as asked.
bool any_needed(std::string_view needs, const std::function<bool(std::string_view)>& asked);

// One kind of fault or workload.
struct Kind {
    std::string name;
    std::string what;
    std::vector<Parameter> parameters = {};
    std::vector<std::string> levers = {};  // faults: the levers it pulls, as in Capabilities
    std::vector<std::string> seams = {};   // workloads: named values that a fault may alter
    std::vector<std::string> blocks = {};  // workloads: named blocks that a fault may skip
    bool at_start = false;      // faults: applied before the job starts unless `when` says otherwise
    bool kept_store = false;    // faults: for a store that outlives rank 0 (`store` of [cluster])
    std::string launcher = {};  // workloads: the only launcher that they can be played with; empty = any
    // Workloads: words of a file become settings, seams, blocks and phases of a kind of its own. The
    // simulator alone plays it, since real ranks do not have the file.
    bool own_words = false;
    bool resizes = false;                // workloads: their checkpoint is for any number of ranks
    std::vector<PhaseWord> phases = {};  // workloads: those they enter; empty = nobody has said
};

struct Vocabulary {
    std::vector<Kind> faults;
    std::vector<Kind> workloads;

    const Kind* fault(std::string_view name) const;
    const Kind* workload(std::string_view name) const;
};

// The nearest of the known words by edit distance; empty when none is near.
std::string nearest(std::string_view word, const std::vector<std::string>& known);

// ── The bug taxonomy as data: 34 symptoms, 28 root causes, 6 fix patterns, 6 stages. Read from
// taxonomy.toml, which says for each entry whether a paper names it or this project reconstructed it.

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
    std::vector<std::string> fixes = {};      // most frequent first
    std::int64_t reports = 0;                 // how many public reports carry it: its weight in a diagnosis
    std::vector<std::string> scenarios = {};  // names, without stage, that were proposed for it
    std::vector<std::string> examples = {};   // those reports
};

// A published table of production incidents: what a storm draws from.
struct IncidentRow {
    std::string name;
    std::string category;
    std::int64_t count = 0;   // 0 = not public
    std::int64_t weight = 0;  // the count, else the published share in parts per billion
    std::vector<std::string> symptoms;
    std::vector<std::string> causes;
    std::vector<std::string> scenarios;
    std::string component;  // what broke: "gpu_memory"; empty when the source does not say
};

struct IncidentTable {
    std::string id;
    std::string name;
    std::string source;
    std::string grade;
    std::string note;
    bool counts_are_weights = false;
    std::int64_t days = 0;     // 0 = not stated
    std::int64_t devices = 0;  // 0 = not stated
    std::int64_t total = 0;
    std::vector<IncidentRow> rows;
};

// A class of the second study, coarser than our symptoms and causes.
struct CoarseClass {
    std::string kind;  // symptom or cause
    std::string id;
    std::string name;
    std::string definition;
    std::string grade;
};

// Which of two entries is meant where both seem to fit.
struct TieBreak {
    std::string kind;
    std::string rule;
    std::vector<std::string> between;
};

// One of the five bug classes the project is named for.
struct ProjectClass {
    std::string id;
    std::string name;
    std::vector<std::string> symptoms;
    std::vector<std::string> causes;
    std::vector<std::string> fixes;
};

struct Taxonomy {
    std::vector<TaxonomyEntry> stages;
    std::vector<TaxonomyEntry> symptoms;
    std::vector<TaxonomyEntry> causes;
    std::vector<TaxonomyEntry> fixes;
    std::vector<SymptomCausePair> pairs;
    std::vector<ProjectClass> classes;
    std::vector<IncidentTable> incidents;
    std::vector<CoarseClass> coarse_classes;
    std::vector<TieBreak> tie_breaks;
    std::string disclosure;  // what is in print and what is ours, in one sentence
};

// nullptr when there is no such id.
const TaxonomyEntry* find(const std::vector<TaxonomyEntry>& entries, std::string_view id);
std::vector<std::string> ids(const std::vector<TaxonomyEntry>& entries);

}  // namespace deadrank::scenarios
