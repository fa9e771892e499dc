// scenarios/format/opening_comment.h — The comment that opens a scenario file is its story, for people.
#pragma once

#include <string>
#include <string_view>

namespace deadrank::scenarios {

// The comment without '#' and without a first line that only names the file. Lines are joined, paragraphs
// kept apart. `explain` and `learn` show it.
std::string story_of(std::string_view text);

}  // namespace deadrank::scenarios
