// runners/find/finds.h — What a find is called, when two are the same, and the scenario file that it is
// written as.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "results/record/evidence.h"
#include "results/record/finding.h"
#include "results/record/truth.h"
#include "runners/find/properties.h"
#include "runners/find/shrink.h"
#include "scenarios/model/plan.h"

namespace deadrank::runners::find {

// Whom a finding points at, held against what was really done. Looser than the judge with a scenario's
// expectation: of two ranks that disagree, nobody can tell which one is wrong.

enum class Naming { nobody, culprit, bystander };

// One for each fault that was applied.
std::vector<results::Blame> culprits_of(const results::Truth& truth);

// `culprit`: one is among those it names. `bystander`: it names places, and none of the culprits'. A culprit
// without place or name cannot be missed.
Naming naming_of(const results::Finding& finding, const std::vector<results::Blame>& culprits,
                 int ranks_per_node);

// The question that shrinking asks of the simulator: does this plan break the same property in the same way?

// In order of the properties. Errors: those of the bench.
scenarios::Result<Signatures> signatures_of(Bench& bench, const scenarios::Plan& plan,
                                            const std::vector<const Property*>& properties);

// A plan that cannot be played does not fail alike. `bench` outlives the answer; the signature's property
// exists, or is `symptom_is_reported`.
Fails fails_alike(Bench& bench, const Signature& signature);

// Not a failure but something to keep while a plan shrinks: a finding of that symptom.
inline constexpr std::string_view symptom_is_reported = "symptom_is_reported";

// Loaded, resolved and played as a file: what is different from the plan, or nothing.
std::optional<std::string> trouble_as_file(const std::string& text, const std::string& id,
                                           const scenarios::Plan& plan, Bench& bench,
                                           const Signature& signature, const scenarios::Taxonomy& taxonomy,
                                           const scenarios::Vocabulary& words);

// A plan as a scenario that one can commit: only what is not usual is written down.

// `story` becomes the opening comment, wrapped. Loaded and resolved under the plan's seed it gives the same
// cluster, workload and faults.
std::string scenario_text(const scenarios::Plan& plan, const scenarios::Vocabulary& words,
                          const std::string& story);

}  // namespace deadrank::runners::find
