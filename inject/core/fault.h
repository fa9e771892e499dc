// inject/core/fault.h — A fault is one thing done to one target, and undone. It sees levers, never results.
// Target, moment and chance live in its FaultSpec and are looked after by the Injector, so no fault
// re-implements them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "inject/core/levers.h"
#include "results/record/blame.h"
#include "scenarios/model/plan.h"
#include "scenarios/model/vocabulary.h"

namespace deadrank::inject {

// How long one application holds, and how often it comes again. The trigger's `lasts` overrules `on`.
struct Rhythm {
    Time on = results::never;  // then it is reverted
    Time off{0};               // then it is applied again
    std::int64_t times = 1;    // how often in all
};

class Fault {
public:
    virtual ~Fault() = default;
    virtual std::string_view kind() const = 0;

    // Pulls its lever. `rank` is the rank whose moment has come: each rank of the parameter `rank` has its
    // own, at the start as well. no_rank for a fault that aims at no rank; it is applied once, at the first
    // moment that fits.
    virtual scenarios::Result<Done> apply(Levers& levers, Rank rank) = 0;
    virtual void revert(Levers& levers, Rank rank) noexcept = 0;  // safe after a failed or a missing apply

    // Who will really be at fault: goes to the truth when the fault is applied. The Injector adds step and
    // collective.
    virtual results::Blame blame(const Levers& levers) const = 0;

    virtual Rhythm rhythm() const { return {}; }
};

// A fault as the catalog lists it: the words of the scenario file, and how to make the fault of them. Lies in
// the file of its family in inject/faults.
struct FaultRow {
    scenarios::Kind words;
    std::function<std::unique_ptr<Fault>(const scenarios::FaultSpec&)> make;
    std::string awaits = {};  // needed where `when` names nothing: a call (see trigger.h), or "step"
};

// Explicit table in inject/faults/catalog.cpp.
const std::vector<FaultRow>& fault_catalog();

}  // namespace deadrank::inject
