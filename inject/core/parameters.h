// inject/core/parameters.h — The parameters that many faults share, so that one word means one thing
// everywhere.
#pragma once

#include "scenarios/model/vocabulary.h"

namespace deadrank::inject {

inline scenarios::Parameter rank_parameter() {
    return {"rank", scenarios::ValueType::ranks, "",
            "the ranks it happens to: a number, a list, \"any\", \"any 2\", \"all\", \"node 1\", …"};
}

inline scenarios::Parameter node_parameter() {
    return {"node", scenarios::ValueType::nodes, "",
            "the nodes it happens to: a number, a list, \"any\", \"all\", …"};
}

inline scenarios::Parameter path_parameter() {
    return {"path", scenarios::ValueType::text, "", "part of the file's path; absent = every file", {}, true};
}

}  // namespace deadrank::inject
