// scenarios/format/parts.h — The tables of a scenario file, each read into its part of the model.
#pragma once

#include <string>
#include <vector>

#include "scenarios/format/reader.h"
#include "scenarios/model/scenario.h"

namespace deadrank::scenarios {

void read_format(Reader& top);  // format = 1
Bug read_bug(Reader& top, const Taxonomy& taxonomy);
Settings read_cluster(Reader& top);

struct WorkloadSettings {
    const Kind* kind = nullptr;  // nullptr when it is not known
    std::string name;
    Settings settings;
};
WorkloadSettings read_workload(Reader& top, const Vocabulary& vocabulary);

// `workload` may be nullptr: then the names of seams, blocks and calls are not looked up.
std::vector<FaultSettings> read_faults(Reader& top, const Vocabulary& vocabulary, const Kind* workload);

Expectation read_expectation(Reader& top, const Bug& bug, const Taxonomy& taxonomy);
std::vector<std::string> read_backends(Reader& top);

std::vector<std::string> names_of(const std::vector<Kind>& kinds);

// The words that the fields of [expect] and `backends` may hold.
const std::vector<std::string>& blame_words();
const std::vector<std::string>& reaction_words();
const std::vector<std::string>& backend_words();

// What `before` may name besides seams and blocks: calls, and families of calls.
const std::vector<std::string>& call_words();

}  // namespace deadrank::scenarios
