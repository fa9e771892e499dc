// results/record/truth.h — What we injected, and what only a simulator knows: kept beside the evidence, never
// shown to a detector.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "results/record/blame.h"
#include "results/record/subject.h"
#include "scenarios/model/error.h"

namespace deadrank::results {

enum class MarkKind : std::uint8_t {
    applied,   // a fault acted
    reverted,  // it was taken back
    refused,   // a lever could not be pulled: that part of the fault never happened
    deadlock,  // no further event was possible
    ending,    // how the simulator's run ended
    missed,    // the moment of a fault never came: it did not happen
    unread,    // a fault changed something that was never used afterwards: no effect
};
std::string_view name_of(MarkKind);  // "fault.applied", as truth files and the ranks' own files have it
std::optional<MarkKind> mark_kind_named(std::string_view name);
bool is_about_a_fault(MarkKind);

struct Mark {
    Time at{0};
    MarkKind kind = MarkKind::applied;
    std::int32_t fault = -1;  // index in the plan
    Blame blame;              // who is really at fault
    std::string says;         // one sentence; for a deadlock the wait-for graph in words

    bool operator==(const Mark&) const = default;
};

// How one rank ended, as the backend knows it.
enum class RankEnd : std::uint8_t { running, finished, failed, killed, stopped, stuck };

struct Truth {
    std::vector<Mark> marks;
    std::vector<RankEnd> ends;           // by rank
    std::vector<std::string> waits_for;  // wait-for edges in words, when the job was stuck
    bool interrupted = false;            // the run was stopped from outside: half a run proves nothing
    Waiting waiting = {};                // of real processes, for a processor that others used

    bool applied() const;         // did any fault really happen?
    const Mark* refusal() const;  // the first lever that was refused; null when none was
    const Mark* idle() const;     // the first fault that never happened or had no effect
    bool took_place() const;      // applied completely
    Time first_fault() const;     // `never` when none did
    Blame culprit() const;        // union of the applied faults' blames
    // Of some of them. `innocent`: places in the plan of those without which the run ends alike.
    Blame culprit_without(const std::set<std::int32_t>& innocent) const;
    bool completed() const;       // every rank finished
};

scenarios::Result<void> write_truth(const Truth& truth, const std::filesystem::path& file);
scenarios::Result<Truth> read_truth(const std::filesystem::path& file);

}  // namespace deadrank::results
