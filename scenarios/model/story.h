// scenarios/model/story.h — The comment that opens a scenario file is its story, for people: `explain` and
// `learn` show it.
#pragma once

#include <string>
#include <string_view>

namespace deadrank::scenarios {

// Without '#' and without a first line that only names the file; lines joined, paragraphs apart.
std::string story_of(std::string_view text);

}  // namespace deadrank::scenarios
