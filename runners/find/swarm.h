// runners/find/swarm.h — Random plans checked against properties; draws favour what was seldom tried.
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
#include "runners/pipeline/workers.h"
#include "scenarios/model/chance.h"

namespace deadrank::runners::find {

// ── Every property is checked on every seed's plan. Failures are grouped by signature; each group keeps the
// smallest plan seen.

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
    std::vector<std::string> kinds;  // of the faults that it needs
    std::uint64_t seen = 0;          // plans
    std::uint64_t first_seed = 0;
    scenarios::Plan witness;  // with only the faults that it needs
    PlanSize size;
    std::vector<std::string> detail;  // what rang, one sentence each

    std::string name() const;  // signature and kinds
};

struct Swarm {
    std::size_t planned = 0, played = 0;
    std::size_t no_job = 0;          // drawn shapes that did not work even without faults
    std::size_t not_played = 0;      // could not be played; the first sentence is in `trouble`
    std::size_t without_effect = 0;  // no fault was triggered
    std::string trouble;
    std::vector<Group> groups;  // most often seen first
    Coverage coverage;
    std::map<std::string, std::set<std::string>> sometimes;  // property → ways in which it held

    bool clean() const { return groups.empty(); }
};

// Seeds go in batches; the coverage so far steers the next one. Depends only on the options, never on threads
// or time; a stop ends it after the current batch.
Swarm swarm(const SwarmOptions& options);

}  // namespace deadrank::runners::find
