// results/analysis/lives.h — Each process of each attempt: when it was started, last seen, and how it
// ended.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "results/record/evidence.h"

namespace deadrank::results::analysis {

struct Life {
    Rank process = no_rank;
    std::int16_t code = 0, signal = 0;  // small, since there may be a million of these
    const RankStart* start = nullptr;   // null: nothing of it was seen in this attempt
    Time started{0};
    Time last_seen{0};
    Time moved{0};               // last seen to do something new: a log line that it repeats is nothing new
    Time ended = never;          // rank.exit
    std::int64_t step = -1;      // last one begun
    std::int64_t finished = -1;  // last one ended

    bool alive_at(Time time) const { return ended > time; }
    bool failed() const { return ended != never && (code != 0 || signal != 0); }
};

class Lives {
public:
    explicit Lives(const Evidence& evidence);

    int attempts() const { return static_cast<int>(attempts_.size()); }
    int attempt_at(Time time) const;
    // Whether two saves, or two loads, are of one step in one attempt.
    template <class P>
    bool same_step(const Event& one, const Event& other) const {
        return one.as<P>()->step == other.as<P>()->step && attempt_at(one.at) == attempt_at(other.at);
    }
    Time begins(int attempt) const { return begins_[static_cast<std::size_t>(attempt)]; }
    Time ends(int attempt) const;  // the next one's begin; for the last: `never`

    std::span<const Life> of(int attempt) const { return attempts_[static_cast<std::size_t>(attempt)]; }
    const Life* find(int attempt, Rank process) const;
    // Processes that were seen to start in it: how large its world was.
    Rank started(int attempt) const { return started_[static_cast<std::size_t>(attempt)]; }

    Rank count() const { return count_; }
    int nodes() const { return nodes_; }
    std::int32_t node_of(Rank process) const;
    std::vector<Rank> on_node(std::int32_t node) const;
    // The nodes all of whose processes are among these; empty if some rank is not on such a node.
    std::vector<std::int32_t> whole_nodes(const std::vector<Rank>& processes) const;

    Time median_step() const { return median_step_; }  // 0 when no step ended
    Time hang_after() const;                           // how long silence must last to be called a hang

private:
    using Lines = std::map<Rank, std::set<std::size_t>>;  // hashes of their kinds
    void begin_attempt(Time at);
    void see(const Event& event, const Evidence& evidence, Lines& said);
    void see_start(const Event& event, const RankStart& start, Life& life);

    std::vector<Time> begins_;
    std::vector<Rank> started_;
    std::vector<std::vector<Life>> attempts_;
    std::vector<std::int32_t> node_of_;
    Rank count_ = 0;
    int nodes_ = 0;
    Time median_step_{0};
};

// The upper median of them, 0 if there are none.
std::int64_t median(std::vector<std::int64_t> values);

}  // namespace deadrank::results::analysis
