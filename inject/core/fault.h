// inject/core/fault.h — A fault is one thing done to one target, and undone. It sees levers, never results.
// Target, moment and chance live in its FaultSpec and are looked after by the Injector, so no fault needs to
// know them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "inject/core/levers.h"
#include "inject/core/trigger.h"
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

// Explicit table in inject/faults/fault_catalog.cpp.
const std::vector<FaultRow>& fault_catalog();

// The parameters that many faults share, so that one word means one thing everywhere.

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

// A fault told by three functions: for the many whose doing and undoing are one line each.

using scenarios::FaultSpec;
using scenarios::ValueType;

struct Deed {
    std::function<Result<Done>(Levers&, Rank)> apply;
    std::function<void(Levers&, Rank)> revert = {};  // none: what is done is done, or ends by itself
    results::Blame blame = {};
    Rhythm rhythm = {};
};
std::unique_ptr<Fault> make_deed(const FaultSpec& spec, Deed deed);

// A deed on the call under way.
std::unique_ptr<Fault> make_alteration(const FaultSpec& spec, const Alteration& alteration);

// Blames what the parameters `rank` and `node` aim at, on top of what `blame` says already.
results::Blame aimed(const FaultSpec& spec, results::Blame blame = {});

// Pulls the lever for each in turn and stops at the first that is refused.
template <class T, class Pull>
Result<Done> for_each(const std::vector<T>& targets, const Pull& pull) {
    for (const T& target : targets) {
        if (auto done = pull(target); !done) return done;
    }
    return Done{};
}

// Of parameter `node`.
std::vector<int> nodes_of(const FaultSpec& spec);

// How many nodes there are.
int node_count(const Levers& levers);

Time duration(const FaultSpec& spec, std::string_view name);

// From the words of a plan to a fault that can be applied, every default written out.

// nullptr when there is no such kind.
const FaultRow* find_fault(std::string_view name);

// A fault as it was planned, with the ranks that it aims at.
struct PlannedFault {
    scenarios::FaultSpec spec;  // every default written out
    std::unique_ptr<Fault> fault = {};
    std::vector<Rank> ranks = {};  // no_rank alone: aims at no rank
    bool muted = false;            // its levers are not pulled, and everything else is as if they were
    Rhythm rhythm = {};
};

// Errors: bad_input (an unknown kind, a parameter missing). A resolved plan meets neither.
scenarios::Result<PlannedFault> make_fault(const scenarios::FaultSpec& spec);

}  // namespace deadrank::inject
