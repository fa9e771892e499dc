// scenarios/model/pattern.h — A regular expression that somebody else wrote: in a scenario, in a rule file.
#pragma once

#include <regex>
#include <string>

#include "scenarios/model/error.h"

namespace deadrank::scenarios {

// An ECMAScript expression without references to what it matched before. `(a+)+$` makes a search that goes
// back and tries again take years for thirty letters; here each letter is read once, for all ways to match.
class Pattern {
public:
    // Of a whole text, and of a part of a line, of which the first 4,096 bytes are looked at. Errors:
    // bad_input, in the library's words, and for counted repetitions whose product is above 1,000, as in
    // `((a{99}){99}){99}`.
    static Result<Pattern> of_text(const std::string& pattern);
    static Result<Pattern> of_part(const std::string& pattern);

    bool fits(const std::string& text) const;

private:
    std::regex regex_;
    std::size_t bytes_most_ = std::string::npos;
};

}  // namespace deadrank::scenarios
