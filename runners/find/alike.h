// runners/find/alike.h — The question that shrinking asks of the simulator: does this plan break the same
// property in the same way?
#pragma once

#include <optional>
#include <string>

#include "runners/find/properties.h"
#include "runners/find/reduction.h"

namespace deadrank::runners::find {

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

}  // namespace deadrank::runners::find
