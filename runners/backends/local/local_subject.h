// runners/backends/local/local_subject.h — A manifest made ready for one plan: its command with the
// scenario's settings in it.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "runners/backends/local/manifest.h"
#include "runners/backends/process/python.h"
#include "scenarios/model/plan.h"

namespace deadrank::runners {

struct Subject {
    std::vector<std::string> command;          // of one rank, or of the whole job where it starts itself
    bool script = true;                        // the first word is a file for Python
    std::map<std::string, std::string> seams;  // name in a scenario → module.function of the subject
    std::vector<std::string> groups;  // by rank: which ranks must hold the same parameters; or learnt
    std::string samples;              // as the manifest says
};

// What stands behind {here}, {python}, … in a command.
struct Places {
    std::filesystem::path checkpoints;
    std::string python;
    results::Time timeout{0};
};

// The manifest that plays this plan unless one was named. Errors: unsupported, as load_manifest.
scenarios::Result<Manifest> usual_subject(const scenarios::Plan& plan);

// Errors: unsupported (a workload or a setting that the program has not).
scenarios::Result<Subject> subject_for(const scenarios::Plan& plan, const Manifest& manifest,
                                       const Places& places);

// Is what the manifest needs there? Errors: environment, naming the module or the version that there is.
scenarios::Result<void> check_needs(const Manifest& manifest, const Python& python);

}  // namespace deadrank::runners
