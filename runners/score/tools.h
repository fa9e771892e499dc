// runners/score/tools.h — Every tool that can be judged, by name, and whether a detector's command keeps
// to the protocol.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "results/detectors/detector.h"
#include "results/external/command_detector.h"
#include "results/processes/bounded.h"
#include "results/record/time.h"

namespace deadrank::runners {

struct Tool {
    std::string name;
    std::string version;              // empty = unknown
    std::string missing;              // why it is not installed, and how to get it; empty if it is
    scenarios::BlameFields blames;    // the fields of a blame that it can name; empty = all
    results::Detectors detectors;     // one; our own tool has several
};

std::vector<std::string> tool_names();

// Errors: usage, for an unknown name. A tool that is not installed is no error.
scenarios::Result<Tool> find_tool(const std::string& name, const results::processes::Bounds& bounds);

// A user's command, asked once for its name and version.
scenarios::Result<Tool> tool_of_command(const std::string& command, const std::vector<std::string>& symptoms,
                                        const results::processes::Bounds& bounds);

// ── Does a detector's command keep to the protocol of docs/guides/external_tools.md? Its quality is for the
// scorecard.

struct ConformanceCheck {
    std::string name;
    bool passed = false;
    std::string says;  // what was observed, in one sentence
};

// Evidence to try the command on, from our own runs.
struct ConformanceMaterial {
    const results::Evidence* healthy = nullptr;
    const results::Evidence* faulty = nullptr;
    std::vector<std::string> symptoms;  // ids of the taxonomy
};

std::vector<ConformanceCheck> check_conformance(const results::external::CommandDetector& detector,
                                                const ConformanceMaterial& material);

}  // namespace deadrank::runners
