// results/analysis/exception_words.h — Which causes the words of an exception speak for: what they say of an
// argument, a rank, a device, a group, a type or a number, and whether every rank said it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::results::analysis {

// What may be behind it, likeliest first. everybody: all ranks raised it, so that nothing which one rank
// alone sees is behind it.
std::vector<std::string> list_exception_causes(std::string_view text, bool everybody);

// The one cause that the words name by themselves; none where they name none. own_program: the job's own
// program raised it. A function that refuses an argument then shows a slip, else two packages that do not
// fit.
scenarios::Cause find_named_cause(std::string_view text, bool own_program);

}  // namespace deadrank::results::analysis
