// tests/scenarios/sample.h — A small vocabulary and a scenario file of it: what the tests of scenarios use.
#pragma once

#include <string>
#include <string_view>

#include "scenarios/model/plan.h"

namespace deadrank::tests {

const scenarios::Taxonomy& sample_taxonomy();  // the shipped one
scenarios::Vocabulary sample_vocabulary();

// Lines of each table; the rest of the file is filled in.
struct SampleFile {
    std::string cluster = "";
    std::string workload = "kind = \"data_parallel\"\nsteps = 10\n";
    std::string fault =
        "kind = \"kill_rank\"\nrank = \"any\"\nwhen = { step = 3, before = \"all_reduce\" }\n";
    std::string more_faults = "";
    std::string expect = "symptom = \"collective_deadlock_hang\"\nblames = [\"rank\"]\n";
    std::string heal = "fault = \"none\"\n";

    std::string toml() const;
};

scenarios::Result<scenarios::Scenario> load_sample(std::string_view toml);

// What is said of a file that must not load; "loads" when it does.
std::string refusal_of(std::string_view toml);

scenarios::Result<scenarios::Trial> resolve_sample(const SampleFile& file, std::uint64_t seed = 1);
std::string refusal_of_resolving(const SampleFile& file, std::uint64_t seed = 1);

}  // namespace deadrank::tests
