// results/record/truth.h — What we did, and what only a simulator knows: kept beside the evidence, never
// shown to a detector.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "results/record/blame.h"
#include "scenarios/model/error.h"

namespace deadrank::results {

struct Mark {
    Time at{0};
    std::string kind;         // "fault.applied", "fault.reverted", "fault.refused", "deadlock", "outcome"
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

    bool applied() const;      // did any fault really happen?
    Time first_fault() const;  // `never` when none did
    Blame culprit() const;     // union of the applied faults' blames
    bool completed() const;    // every rank finished
};

scenarios::Result<void> write_truth(const Truth& truth, const std::filesystem::path& file);
scenarios::Result<Truth> read_truth(const std::filesystem::path& file);

}  // namespace deadrank::results
