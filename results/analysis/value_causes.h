// results/analysis/value_causes.h — Which causes a wrong number speaks for, by what it is called and by how
// it relates to the one that was expected.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace deadrank::results::analysis {

// The size by which one of the two numbers is a multiple of the other: 4.51 for 0.56 on 8 ranks gives 8.
// Nothing if none of these sizes is it.
std::optional<std::int64_t> size_between(double value, double expected,
                                         const std::vector<std::int64_t>& sizes);

// Likeliest first. A factor of a group's size is a reduction too many, too few, or over the wrong group; a
// count is a matter of how work is shared out.
std::vector<std::string> list_value_causes(std::string_view name, bool by_a_groups_size);

}  // namespace deadrank::results::analysis
