// results/preflight/examine.h — Reads the snapshots of a job's processes and says what will not work, before
// hours are lost. Silent on a healthy job: a remark is a mistake, or something that hangs or misleads when it
// matters.
#pragma once

#include <string>
#include <vector>

#include "results/preflight/job_snapshot.h"
#include "results/preflight/knowledge.h"

namespace deadrank::results::preflight {

enum class Weight { warning, error };  // may hurt; will hurt

struct Remark {
    Weight weight = Weight::error;
    std::string rule;                    // launch_variable, version_skew, …
    std::vector<std::size_t> processes;  // indices of snapshots; empty = all of them together
    std::string subject;                 // the variable, package, interface or limit
    std::string says;                    // what is wrong, with the value seen
    std::string remedy;                  // what to do instead
    std::string source;                  // where the rule comes from

    bool operator==(const Remark&) const = default;
};

using Job = std::vector<Snapshot>;  // in order of process; there may be only one

struct Rule {
    std::string_view name;
    std::string_view what;  // one sentence for the listing
    void (*examine)(const Job& job, const Knowledge& knowledge, std::vector<Remark>& remarks);
};
const std::vector<Rule>& rules();

// In order of the rules.
std::vector<Remark> examine(const Job& job, const Knowledge& knowledge);

}  // namespace deadrank::results::preflight
