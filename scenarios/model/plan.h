// scenarios/model/plan.h — A scenario with nothing left to chance, and the keys that every plan has.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/model/cluster_choices.h"
#include "scenarios/model/scenario.h"

namespace deadrank::scenarios {

struct Seed {
    std::uint64_t number = 1;
    bool operator==(const Seed&) const = default;
};

// When a fault acts, on each rank it aims at. Unset members match everything.
struct Trigger {
    bool at_start = false;   // before the job starts
    std::int64_t at = -1;    // nanoseconds after the job's start; -1 = not by time
    std::int64_t step = -1;  // training step, counted from 0
    std::string phase;       // data, forward, backward, reduce, optimizer, checkpoint
    std::string before;      // a call, as in call_words(): all_reduce, comm_init, …; or a seam or block
    std::string comm;        // name of the communicator of that call: world, tp, dp, pp, …
    std::int64_t nth = 1;    // the n-th matching call of that rank (within the step, if a step is given)
    bool always = false;     // from then on at every match, not once
    std::int64_t until_step = -1;  // the last step; after it the fault is reverted
    std::int64_t lasts = -1;       // nanoseconds after which the fault is reverted; -1 = stays

    bool operator==(const Trigger&) const = default;
};

struct FaultSpec {
    std::string kind;
    Values parameters;  // `rank` → Value::list of ranks, `node` → Value::list of nodes
    Trigger when;
    bool provokes = false;  // only makes the bug show, and is not to be blamed
    bool hardware = false;  // sits in the machine: it ends when a spare node takes the machine's place

    bool operator==(const FaultSpec&) const = default;

    std::vector<std::int64_t> ranks() const;  // of parameter `rank`; empty when there is none
    std::int64_t number(std::string_view name, std::int64_t otherwise = 0) const;
    std::string text(std::string_view name, std::string otherwise = {}) const;
};

enum class Variant { fault, control, healed };
std::string_view variant_name(Variant);

struct Plan {
    std::string scenario;         // id
    std::string scenario_digest;  // of the file it came from
    Seed seed;
    Variant variant = Variant::fault;
    Bug bug;
    Values cluster;
    std::string workload_kind;
    Values workload;
    std::vector<FaultSpec> faults;
    Expectation expect;
    std::vector<std::string> backends;

    bool operator==(const Plan&) const = default;

    std::int64_t world_size() const;  // cluster.ranks, else nodes × gpus_per_node
    std::int64_t number(const Values& values, std::string_view name) const;  // CHECKs that it is there
};

// The backends of this build, and nccl, which only scenarios name. Backends keep their names as texts: a
// user's program may play plans on one of its own.
enum class BackendId : std::uint8_t { sim, local, mpi, gpu, nccl };
constexpr auto enum_words(BackendId) {
    return std::to_array<std::string_view>({"sim", "local", "mpi", "gpu", "nccl"});
}
constexpr bool operator==(std::string_view name, BackendId backend) { return name == enum_name(backend); }

// What a backend can do. A fault whose lever is missing makes the run `unknown` with the reason.
struct Capabilities {
    std::string backend = "sim";
    std::vector<std::string> levers;     // "*" = all
    std::vector<std::string> workloads;  // "*" = all
    std::int64_t ranks_max = 2'000'000;
};

// All three runs of a scenario come from one set of draws: the control is the plan without faults, the healed
// run has the fix.
struct Trial {
    Plan fault;
    Plan control;
    Plan healed;
};

// A number of [cluster]; `otherwise` when the plan does not state it.
std::int64_t cluster_number(const Plan& plan, const std::string& name, std::int64_t otherwise);

// ── The choices of [cluster] (cluster_choices.h) in a plan.

template <WordEnum Enum>
Enum cluster_choice(const Plan& plan, const std::string& name) {
    const auto stated = plan.cluster.find(name);
    return stated == plan.cluster.end() ? Enum{} : choice_of<Enum>(stated->second);
}

LauncherKind launcher_of(const Plan& plan);

// The keys of [cluster] and of `when`, with types, defaults and one sentence each.
const std::vector<Parameter>& cluster_parameters();
const std::vector<Parameter>& trigger_parameters();

}  // namespace deadrank::scenarios
