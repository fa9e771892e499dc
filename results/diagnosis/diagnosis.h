// results/diagnosis/diagnosis.h — From findings to likely causes and fix patterns, each with its reasons. It
// sees evidence and findings, never truth; what supports which cause is data (taxonomy.toml's pairs and
// clues.toml).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "results/diagnosis/incident_reading.h"
#include "results/record/evidence.h"
#include "results/record/finding.h"
#include "scenarios/format/taxonomy_file.h"

namespace deadrank::results::diagnosis {

struct Reason {
    std::int64_t points = 0;  // below 0: it speaks against the cause
    std::string says;
};

struct LikelyCause {
    std::string cause;
    std::int64_t points = 0;
    std::vector<Reason> reasons;  // strongest first
};

struct LikelyFix {
    std::string fix;
    std::vector<std::string> of;  // the causes that it fixes, most likely first
};

struct Diagnosis {
    std::optional<Finding> finding;   // the one that is diagnosed, the earliest
    std::vector<Finding> others;      // further ones
    std::vector<LikelyCause> causes;  // most likely first
    std::vector<LikelyFix> fixes;     // likewise

    Incident incident;  // of imported logs and dumps: what they say; else only the outcome

    // A finished run without findings. Logs that were not understood are not healthy: their outcome is
    // unknown.
    bool healthy() const {
        return incident.outcome == IncidentOutcome::healthy || incident.outcome == IncidentOutcome::completed;
    }
};

Diagnosis diagnose(const Evidence& evidence, const std::vector<Finding>& findings,
                   const scenarios::Taxonomy& taxonomy, const scenarios::ClueTable& table);

}  // namespace deadrank::results::diagnosis
