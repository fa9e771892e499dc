// tests/inject/shims/shim_run.h — One program with shims in it: its plan, its surroundings, and what it left
// behind.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "results/external/tool_program.h"
#include "results/record/evidence.h"
#include "tests/support/shell.h"

namespace deadrank::tests {

inline const std::string shim_directory = DEADRANK_BINARY_DIRECTORY "/shims";
inline const std::string program_directory = DEADRANK_BINARY_DIRECTORY "/tests/shims";

// Why the shims cannot be tried here; empty when they can.
std::string no_shims();

class ShimRun {
    results::external::Scratch scratch_ = results::external::Scratch::make().value();

public:
    ShimRun();

    std::filesystem::path directory = scratch_.path();
    std::map<std::string, std::string>
        environment;              // DEADRANK_RANK is 1 and NCCL is a double unless said otherwise
    std::string sight = "local";  // how the host loads its client
    int limit = 20;               // seconds; 124 is the code of a run that took longer
    int grace = 1;                // that many more for whoever was told to end

    void plan(const nlohmann::json& text);
    // One entry of rank 1: what, and when.
    void fault(nlohmann::json when, nlohmann::json pull);

    // The NCCL client with these calls, the interposer preloaded.
    Answer calls(const std::string& words);
    Answer start(const std::string& command);

    std::vector<std::string> arrived() const;  // at the double
    std::vector<nlohmann::json> evidence(int rank = 1) const;
    std::vector<nlohmann::json> truth(int rank = 1) const;
    std::vector<nlohmann::json> evidence_of(const std::string& kind, int rank = 1) const;
    // Read as the program itself reads it.
    results::Evidence timeline(int rank = 1) const;
};

// Directories with a libnccl.so.2: the installed one, and that of a wheel that `./dev tools` fetched.
std::string installed_nccl();
std::string nccl_of_wheel();

}  // namespace deadrank::tests
