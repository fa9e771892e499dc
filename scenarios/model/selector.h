// scenarios/model/selector.h — Words for "which ranks" and "which nodes" ("any 2 but 0", "node 1", "others"),
// and how a seed closes them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/model/chance.h"
#include "scenarios/model/error.h"
#include "scenarios/model/value.h"

namespace deadrank::scenarios {

// Ranks fill the nodes in order, as launchers do.
struct Shape {
    std::int64_t nodes = 1;
    std::int64_t gpus_per_node = 1;
    std::int64_t ranks = 1;

    std::vector<std::int64_t> ranks_of(std::int64_t node) const;
    std::int64_t node_of(std::int64_t rank) const { return rank / gpus_per_node; }
};

// The target ranks of a fault that is already resolved.
using Targets = std::vector<std::int64_t>;

// Refuses what is not a selector. `type` is ranks or nodes. Error: bad_input, with what is accepted.
Result<void> check_selector(ValueType type, std::string_view text);

// Closes a selector. `earlier` holds the ranks of the faults before this one: "others" leaves out those of
// the first, "same" takes those of the last. Errors: bad_input (a number outside the cluster, more wanted
// than there are, none left).
Result<std::vector<std::int64_t>> select(ValueType type, std::string_view text, const Shape& shape,
                                         const std::vector<Targets>& earlier, const Draw& draw);

}  // namespace deadrank::scenarios
