// runners/find/naming.h — Whom a finding points at, held against what was really done. Looser than the judge
// with a scenario's expectation: of two ranks that disagree, nobody can tell which one is wrong.
#pragma once

#include <vector>

#include "results/record/evidence.h"
#include "results/record/finding.h"
#include "results/record/truth.h"

namespace deadrank::runners::find {

enum class Naming { nobody, culprit, bystander };

// One for each fault that was applied.
std::vector<results::Blame> culprits_of(const results::Truth& truth);

// `culprit`: one is among those it names. `bystander`: it names places, and none of the culprits'. A culprit
// without place or name cannot be missed.
Naming naming_of(const results::Finding& finding, const std::vector<results::Blame>& culprits,
                 int ranks_per_node);

}  // namespace deadrank::runners::find
