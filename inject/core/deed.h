// inject/core/deed.h — A fault told by three functions: for the many whose doing and undoing are one line
// each.
#pragma once

#include <functional>
#include <memory>

#include "inject/core/fault.h"

namespace deadrank::inject {

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

}  // namespace deadrank::inject
