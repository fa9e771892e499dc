// runners/find/properties.h — What must hold of every run, what must come true in the end, and what must
// happen now and then if a search is worth anything.
#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <vector>

#include "runners/find/harm.h"

namespace deadrank::runners::find {

// What makes two failures the same: which property broke, and how. Ranks, steps and times are left out, so
// that a smaller plan can have the same failure.

struct Signature {
    std::string property;  // "harm_is_noticed"
    std::string how;       // "the job hung"

    auto operator<=>(const Signature&) const = default;
    std::string text() const { return property + ": " + how; }
};
using Signatures = std::vector<Signature>;

// Never fails: a text without ": " is a property alone, which matches every `how`.
Signature parse_signature(const std::string& text);

bool fits(const Signature& wanted, const Signature& seen);

enum class Modality { always, eventually, sometimes };
std::string_view name_of(Modality);

struct Property {
    std::string name;
    Modality modality = Modality::always;
    std::string says;  // one sentence
    // always, eventually: one entry for each way it is broken; sometimes: one for each way it holds.
    std::vector<std::string> (*look)(const TrialedPlan& tried) = nullptr;
};

// An explicit table.
const std::vector<Property>& all_properties();
const Property* find_property(std::string_view name);

// By name; without names, all that are not `sometimes`. Errors: usage, with the nearest name.
scenarios::Result<std::vector<const Property*>> properties_named(const std::vector<std::string>& names);

// In order of the table; `sometimes` is never broken by one run.
Signatures broken(const TrialedPlan& tried, const std::vector<const Property*>& properties);

}  // namespace deadrank::runners::find
