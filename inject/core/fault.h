// inject/core/fault.h — A fault does one thing to one target, and reverts it. It sees levers, never results.
// Target, moment and probability are in its FaultSpec and handled by the Injector, so no fault deals with
// them.
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

// How long one application lasts, and how often it repeats. The trigger's `lasts` overrides `on`.
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

    // Who is really to blame: written to the truth when the fault is applied. The Injector adds step and
    // collective.
    virtual results::Blame blame(const Levers& levers) const = 0;

    // The same as the scenario alone tells it, without the ranks of a node.
    virtual const results::Blame& aim() const = 0;

    virtual Rhythm rhythm() const { return {}; }
};

// A fault as a catalogue lists it: its words in a scenario file, and the function that makes it. Defined in
// the file of its family in inject/faults.
struct FaultRow {
    scenarios::Kind words;
    std::function<std::unique_ptr<Fault>(const scenarios::FaultSpec&)> make;
    std::string awaits = {};  // needed where `when` names nothing: a call (see trigger.h), or "step"
};

// Whoever plays a plan passes the faults that it may name: inject/faults/fault_catalog.h has them all.
using FaultCatalog = std::vector<FaultRow>;

// ── The parameters that many faults share, so that one word means one thing everywhere.

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

using scenarios::FaultSpec;
using scenarios::ValueType;

// A fault made of a few functions: for the many that apply and revert in one line each.
struct FaultFunctions {
    std::function<Result<Done>(Levers&, Rank)> apply;
    std::function<void(Levers&, Rank)> revert = {};  // none: it cannot be reverted, or ends by itself
    results::Blame blame = {};
    Rhythm rhythm = {};
};
std::unique_ptr<Fault> make_simple_fault(const FaultSpec& spec, FaultFunctions functions);

// A fault that alters the call under way.
std::unique_ptr<Fault> make_alteration(const FaultSpec& spec, const Alteration& alteration);

// Adds what the parameters `rank` and `node` aim at to `blame`.
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

// ── Makes the faults that a plan describes, with every default filled in.

// nullptr when there is no such kind.
const FaultRow* find_fault(const FaultCatalog& catalog, std::string_view name);

// A fault as it was planned, with the ranks that it aims at.
struct PlannedFault {
    scenarios::FaultSpec spec;  // every default written out
    std::unique_ptr<Fault> fault = {};
    std::vector<Rank> ranks = {};  // no_rank alone: aims at no rank
    bool muted = false;            // its levers are not pulled, and everything else is as if they were
    Rhythm rhythm = {};
};

// Errors: bad_input (an unknown kind, a parameter missing). A resolved plan meets neither.
scenarios::Result<PlannedFault> make_fault(const FaultCatalog& catalog, const scenarios::FaultSpec& spec);

// The fields of a blame that the truth of this fault can name. The step counts as one of them, although a
// fault of the start meets none.
scenarios::BlameFields nameable_fields(const FaultCatalog& catalog, const scenarios::FaultSpec& spec);

}  // namespace deadrank::inject
