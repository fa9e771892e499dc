// results/analysis/exception_words.h — Which causes the words of an exception speak for: what they say of an
// argument, a rank, a device, a group, a type or a number, and whether every rank said it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace deadrank::results::analysis {

// Likeliest first. everybody: all ranks raised it, so that nothing which one rank alone sees is behind it.
std::vector<std::string> list_exception_causes(std::string_view text, bool everybody);

// The same; empty where no word speaks for a cause.
std::vector<std::string> find_exception_causes(std::string_view text, bool everybody);

}  // namespace deadrank::results::analysis
