// scenarios/format/closing.h — Closes what a scenario leaves open, and refuses settings that contradict each
// other.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scenarios/model/plan.h"
#include "scenarios/model/selector.h"

namespace deadrank::scenarios {

// Closes what a scenario leaves open: choices, ranges and selectors become values, defaults are filled in.
class Closing {
public:
    Closing(std::string scenario, Seed seed) : scenario_(std::move(scenario)), seed_(seed) {}

    // Every parameter that is stated or has a default. `path` names the draws: "cluster", "fault.0.when".
    Result<Values> all(const Settings& settings, const std::vector<Parameter>& parameters,
                       const std::string& path) const;

    // Only what is stated.
    Result<Values> stated(const Settings& settings, const std::string& path) const;

    // Both are needed before ranks and nodes can be closed.
    void set_shape(const Shape& shape) { shape_ = shape; }
    void add_targets(Targets ranks) { earlier_.push_back(std::move(ranks)); }

    // The ranks that [expect] names in words; none of them is drawn.
    Result<void> name_ranks(Expectation& expect) const;

private:
    Result<Value> close(const Setting& setting, const std::string& path) const;
    Result<Value> fallback(const Parameter& parameter, const std::string& path) const;

    std::string scenario_;
    Seed seed_;
    Shape shape_;
    std::vector<Targets> earlier_;
};

// The trigger that these values of `when` mean. `at_start`: if they say nothing, before the job starts.
Trigger trigger_of(const Values& when, bool at_start);

// What makes no sense in a plan: a rank outside the cluster, a step after the end, a degree that does not
// divide.
struct Contradiction {
    std::string setting;  // path of the setting to blame: "cluster.ranks", "fault.0.when.step", "expect.step"
    std::string what;
    std::string remedy;
};

// The first one, or none. Values are taken as present where their tables say so.
std::optional<Contradiction> cluster_contradiction(const Plan& plan);
std::optional<Contradiction> contradiction(const Plan& plan);

// A fault that waits for a phase which its workload never enters, or not with these settings.
std::optional<Contradiction> phase_contradiction(const Plan& plan, const Vocabulary& vocabulary);

// A launcher for each rank suits those workloads alone whose ranks go on without one of them.
std::optional<Contradiction> launcher_contradiction(const Plan& plan, const Vocabulary& vocabulary);

// Agents that go on with fewer nodes, and stores that are kept: what contradicts itself, or the workload.
std::optional<Contradiction> meeting_contradiction(const Plan& plan, const Vocabulary& vocabulary);

// Two settings of a workload that make a wrong control together.
std::optional<Contradiction> together_contradiction(const Plan& plan);

// A setting of the workload that has no effect because the one it needs is not turned on, or that does not
// divide what it cuts. `among`: only these are checked, since a fix may turn off what another setting needs.
std::optional<Contradiction> needs_contradiction(const Plan& plan, const Vocabulary& vocabulary,
                                                 const Values& among);

}  // namespace deadrank::scenarios
