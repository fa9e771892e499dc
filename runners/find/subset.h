// runners/find/subset.h — Which few of many matter: a subset that still fails and from which nothing can be
// left out.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace deadrank::runners::find {

using Subset = std::vector<std::size_t>;  // ascending
using SubsetFails = std::function<bool(const Subset&)>;

// Zeller's ddmin over 0..count-1, which fail together. No subset is asked about twice.
Subset minimal_subset(std::size_t count, const SubsetFails& fails);

// ddmin ends in the nearest minimum. This looks further: a smaller subset must lack one of the found members,
// so all others are searched without each of them in turn, as long as that finds less.
Subset smallest_subset(std::size_t count, const SubsetFails& fails);

}  // namespace deadrank::runners::find
