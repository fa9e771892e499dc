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

// What a [[heal.change]] lays over a fault of this kind.
void read_fault_change(Reader& reader, const Kind& kind, const Kind* workload, const Vocabulary& vocabulary,
                       HealedFault& change);

// [expect], or [heal.expect], which may also ask for silence: symptom = "none".
inline constexpr std::string_view no_symptom = "none";
Expectation read_expect_table(const Node& table, std::string name, Expectation usual,
                              const Taxonomy& taxonomy, Problems& problems);
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
