// results/judging/coverage.h — Which ids and cells of the taxonomy the catalog covers, and which it does not,
// and why.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "scenarios/model/scenario.h"

namespace deadrank::results {

// One dimension: symptoms, causes, fixes or stages.
struct CoverageAxis {
    std::string name;
    std::map<std::string, std::size_t> scenarios;  // id → how many; every id of the taxonomy is here
    std::vector<std::string> missing() const;
    std::size_t covered() const;
};

struct CoverageCell {
    std::string symptom, cause, stage, fix;
    std::map<std::string, std::vector<std::string>> backends;  // backend → ids of scenarios

    bool operator==(const CoverageCell&) const = default;
};

// A (symptom, cause) or (symptom, cause, fix) that the taxonomy proposes and no scenario has.
struct Gap {
    std::string symptom, cause;
    std::string fix;  // empty: no fix pattern of the pair is covered
    std::string why;
    std::vector<std::string> proposed = {};  // names of scenarios that the reference planned for the pair
    std::vector<std::string> reports = {};   // public reports that carry it
};

// How much the scenarios' checks demand: what each states, what it leaves open with a reason, and what
// without one.
struct Strictness {
    struct Field {
        std::size_t stated = 0, reasoned = 0;
        std::vector<std::string> open;  // scenarios
    };
    Field blames, reaction, within;    // within: only playing shows whether a stated bound is tight
    std::size_t heals_keep = 0;        // a fix: a fault stays, perhaps with other parameters
    std::size_t heals_set = 0;         // a fix: all faults go, and settings change
    std::size_t heals_workaround = 0;  // no fix, but what users did for want of one
    std::size_t heals_control = 0;     // the healed run is the control, with a reason
    std::vector<std::string> heals_missing;
};

struct Coverage {
    std::size_t scenarios = 0;
    CoverageAxis symptoms, causes, fixes, stages;
    std::vector<CoverageCell> cells;                          // in order of symptom, cause, stage, fix
    std::size_t pairs = 0;                                    // (symptom, cause) that the taxonomy proposes
    std::vector<Gap> gaps;                                    // those of them without a scenario
    std::vector<Gap> fix_gaps;                                // pairs with a scenario: fix patterns without
    std::vector<std::pair<std::string, std::string>> beyond;  // covered, though not proposed
    std::map<std::string, std::size_t> backends;              // backend → scenarios
    std::vector<std::string> unseen;                          // scenarios whose bug no evidence can show
    std::vector<std::string> without_report;                  // scenarios that cite no public report
    Strictness checks;
    // Whose bug is code of a real program, a switch planted in a workload of this project, or neither: an
    // outside event such as a killed rank, a variable or a broken link.
    std::size_t real_code = 0, planted = 0, outside = 0;

    bool complete() const;  // no id of any axis is missing
};

Coverage coverage_of(const std::vector<scenarios::Scenario>& scenarios, const scenarios::Taxonomy& taxonomy);

}  // namespace deadrank::results
