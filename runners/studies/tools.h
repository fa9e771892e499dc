// runners/studies/tools.h — Every tool that can be judged, by name: which release is here, or how to get one.
#pragma once

#include <string>
#include <vector>

#include "results/detectors/detect.h"
#include "results/external/bounded.h"

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

}  // namespace deadrank::runners
