// results/judging/known_limits.h — What a release of a tool is known to get wrong, on which scenario. Pinned,
// so that both a fixed defect and a new one show as a change.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "results/judging/judge.h"

namespace deadrank::results {

struct KnownLimit {
    std::string_view tool;
    std::string_view since, before;  // releases [since, before); empty = open
    std::string_view scenario;       // its name, without directory
    Outcome outcome;
    std::string_view why;
};

const std::vector<KnownLimit>& known_limits();

// The limit pinned for this release of the tool on this scenario ("stage/name" or a name); null if there is
// none.
const KnownLimit* known_limit(std::string_view tool, std::string_view version, std::string_view scenario);

// "2.11.0+cu130" against "2.11": number by number.
bool older(std::string_view version, std::string_view than);

}  // namespace deadrank::results
