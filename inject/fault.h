// inject/fault.h — A fault is one thing done to one target, and undone. It sees levers, never results.
// Target, moment and chance live in its FaultSpec and are looked after by the Injector, so no fault re-implements them.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "inject/levers.h"
#include "results/blame.h"
#include "scenarios/plan.h"
#include "scenarios/vocabulary.h"

namespace deadrank::inject {

class Fault {
public:
    virtual ~Fault() = default;
    virtual std::string_view kind() const = 0;

    // Pulls its lever. `rank` is the rank whose moment has come (each rank of the spec has its own), or no_rank at the start.
    virtual scenarios::Result<Done> apply(Levers& levers, Rank rank) = 0;
    virtual void revert(Levers& levers, Rank rank) noexcept = 0;  // safe after a failed or a missing apply

    // Who will really be at fault: goes to the truth when the fault is applied.
    virtual results::Blame blame(const Levers& levers) const = 0;
};

// One line of the catalog: the words of the scenario file, and how to make the fault of them.
struct FaultKind {
    scenarios::Kind words;
    std::function<std::unique_ptr<Fault>(const scenarios::FaultSpec&)> make;
};

// Explicit table in inject/catalog.cpp.
const std::vector<FaultKind>& fault_catalog();

}  // namespace deadrank::inject
