// runners/find/signature.h — What makes two failures the same one: which property broke, and how. Ranks,
// steps and times are left out, so that a smaller plan may fail alike.
#pragma once

#include <compare>
#include <string>
#include <vector>

namespace deadrank::runners::find {

struct Signature {
    std::string property;  // "harm_is_noticed"
    std::string how;       // "the job hung"

    auto operator<=>(const Signature&) const = default;
    std::string text() const { return property + ": " + how; }
};
using Signatures = std::vector<Signature>;

// Error-free: a text without ": " is a property alone, which fits every `how`.
Signature parse_signature(const std::string& text);

bool fits(const Signature& wanted, const Signature& seen);

}  // namespace deadrank::runners::find
