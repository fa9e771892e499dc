// runners/local/subject.h — The program under test: how it is started for a plan, and how what it prints is
// read.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "scenarios/plan.h"

namespace deadrank::runners {

struct Subject {
    std::vector<std::string> arguments;        // of Python: the script first
    std::map<std::string, std::string> seams;  // name in a scenario → module.function of the subject
    std::vector<std::string> groups;           // by rank: which ranks must hold the same parameters
};

// Workloads that our own training program plays, and all names of values and blocks that faults may bend in
// it.
std::vector<std::string> subject_workloads();

// Errors: unsupported (a workload or a setting that the real program has not).
scenarios::Result<Subject> subject_for(const scenarios::Plan& plan, const std::filesystem::path& home,
                                       const std::filesystem::path& checkpoints, double timeout_seconds);

}  // namespace deadrank::runners
