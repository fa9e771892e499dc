// runners/find/finds.h — How a find is named, when two are the same, and the scenario file that it is written
// to.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "results/record/evidence.h"
#include "results/record/finding.h"
#include "results/record/truth.h"
#include "runners/find/properties.h"
#include "runners/find/shrink.h"
#include "scenarios/model/plan.h"

namespace deadrank::runners::find {

// Whom a finding blames, compared with the faults that were applied. Looser than the judge with a scenario's
// expectation: when two ranks disagree, no detector can tell which one is wrong.

enum class Naming { nobody, culprit, bystander };

// One for each applied fault.
std::vector<results::Blame> culprits_of(const results::Truth& truth);

// The ranks that a blame means: those it names, else all ranks of the nodes that it names.
std::set<results::Rank> places_of(const results::Blame& blame, int ranks_per_node);

// `culprit`: the finding names one of them. `bystander`: it names places, but none of a culprit's. A culprit
// without place or name cannot be missed.
Naming naming_of(const results::Finding& finding, const std::vector<results::Blame>& culprits,
                 int ranks_per_node);

// What shrinking asks the simulator: does this plan break the same property in the same way?

// In order of the properties. Errors: those of the trials.
scenarios::Result<Signatures> signatures_of(PlanTrials& trials, const scenarios::Plan& plan,
                                            const std::vector<const Property*>& properties);

// A plan that cannot be played does not count. `trials` must outlive the result; the signature's property
// exists, or is `symptom_is_reported`.
Fails fails_alike(PlanTrials& trials, const Signature& signature);

// Not a failure but a finding of this symptom, to be kept while a plan shrinks.
inline constexpr std::string_view symptom_is_reported = "symptom_is_reported";

// Loads, resolves and plays the text as a file: how it differs from the plan, or nothing.
std::optional<std::string> trouble_as_file(const std::string& text, const std::string& id,
                                           const scenarios::Plan& plan, PlanTrials& trials,
                                           const Signature& signature, const scenarios::Taxonomy& taxonomy,
                                           const scenarios::Vocabulary& words);

// A plan as a scenario fit to commit: defaults are left out.

// `story` becomes the opening comment, wrapped. Loaded and resolved under the plan's seed, it gives the same
// cluster, workload and faults.
std::string scenario_text(const scenarios::Plan& plan, const scenarios::Vocabulary& words,
                          const std::string& story);

}  // namespace deadrank::runners::find
