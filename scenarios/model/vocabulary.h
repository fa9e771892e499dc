// scenarios/model/vocabulary.h — The words a scenario may use: fault kinds and workload kinds with their
// parameters. The rooms `inject` and `sim` state theirs as data; the loader refuses every other word and
// names the nearest.
#pragma once

#include <string>
#include <vector>

#include "scenarios/model/value.h"

namespace deadrank::scenarios {

struct Parameter {
    std::string name;
    ValueType type = ValueType::integer;
    std::string fallback = {};              // text form of the default; empty and not optional = required
    std::string what = {};                  // one sentence for help texts and the editor schema
    std::vector<std::string> choices = {};  // for ValueType::choice
    bool optional = false;                  // may be absent without a default
    std::int64_t least = INT64_MIN;         // numbers: none below it
};

// One kind of fault or workload.
struct Kind {
    std::string name;
    std::string what;
    std::vector<Parameter> parameters = {};
    std::vector<std::string> levers = {};  // faults: the levers it pulls, as in Capabilities
    std::vector<std::string> seams = {};   // workloads: named values that a fault may bend
    std::vector<std::string> blocks = {};  // workloads: named blocks that a fault may skip
    bool at_start = false;  // faults: applied before the job starts unless `when` says otherwise
};

struct Vocabulary {
    std::vector<Kind> faults;
    std::vector<Kind> workloads;

    const Kind* fault(std::string_view name) const;
    const Kind* workload(std::string_view name) const;
};

// The nearest of the known words by edit distance; empty when none is near.
std::string nearest(std::string_view word, const std::vector<std::string>& known);

}  // namespace deadrank::scenarios
