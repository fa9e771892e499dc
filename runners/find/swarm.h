// runners/find/swarm.h — Random plans against properties; what behaves in a new way is kept and varied.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runners/find/drawing.h"
#include "runners/find/knob.h"
#include "runners/find/properties.h"
#include "runners/line/workers.h"
#include "scenarios/model/chance.h"

namespace deadrank::runners::find {

// Many seeds, many plans, and every property asked of each. What breaks is grouped by signature; each group
// keeps one plan, the smallest that was seen.

struct SwarmOptions {
    SwarmWords words;
    std::uint64_t first_seed = 1;
    std::size_t seeds = 500;
    std::vector<const Property*> properties;
    const results::Detectors* detectors = nullptr;
    Workers workers;
};

struct Group {
    Signature signature;
    std::vector<std::string> kinds;  // of the faults that are needed for it
    std::uint64_t seen = 0;          // plans
    std::uint64_t first_seed = 0;
    scenarios::Plan witness;  // with the faults that are needed alone
    PlanSize size;
    std::vector<std::string> detail;  // what rang, in one sentence each

    std::string name() const;  // signature and kinds
};

struct Swarm {
    std::size_t planned = 0, played = 0;
    std::size_t no_job = 0;          // drawn shapes that were not even a healthy job
    std::size_t untold = 0;          // could not be played; the first sentence is in `trouble`
    std::size_t without_effect = 0;  // no fault found its moment
    std::string trouble;
    std::vector<Group> groups;  // most often seen first
    Coverage coverage;
    std::map<std::string, std::set<std::string>> sometimes;  // property → ways in which it held

    bool clean() const { return groups.empty(); }
};

// Seeds go in batches; the coverage of all batches before steers the next one. Depends on the options alone,
// never on threads or time; a stop ends it after the batch under way.
Swarm swarm(const SwarmOptions& options);

}  // namespace deadrank::runners::find
