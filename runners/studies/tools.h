// runners/studies/tools.h — Every tool that can be judged, by name, and whether a detector's command keeps
// to the protocol.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "results/detectors/detector.h"
#include "results/external/bounded.h"
#include "results/external/command_detector.h"
#include "results/record/time.h"

namespace deadrank::runners {

struct Tool {
    std::string name;
    std::string version;              // empty = unknown
    std::string missing;              // why it is not here, and what would get it; empty when it is here
    std::vector<std::string> blames;  // the fields of a blame that it can name at all; empty = every one
    results::Detectors detectors;     // one; several for our own
};

std::vector<std::string> tool_names();

// Errors: usage, for a name that is none of them. A tool that is not installed is no error.
scenarios::Result<Tool> find_tool(const std::string& name, const results::external::Bounds& bounds);

// Anyone's command, asked once for its name and version.
scenarios::Result<Tool> tool_of_command(const std::string& command, const std::vector<std::string>& symptoms,
                                        const results::external::Bounds& bounds);

// Does a detector's command keep to the protocol of results/external/README.md? Not how good it is: that is
// for the scorecard.

struct ConformanceCheck {
    std::string name;
    bool passed = false;
    std::string says;  // what was seen, in one sentence
};

// Evidence to try it on, from runs of ours.
struct ConformanceMaterial {
    const results::Evidence* healthy = nullptr;
    const results::Evidence* faulty = nullptr;
    std::vector<std::string> symptoms;  // ids of the taxonomy
};

std::vector<ConformanceCheck> check_conformance(const results::external::CommandDetector& detector,
                                                const ConformanceMaterial& material);

}  // namespace deadrank::runners
