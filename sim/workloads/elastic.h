// sim/workloads/elastic.h — What replicas that come and go agree on: who takes part in a step, whether the
// step counts, and where the parts of their state lie when one of them is lost.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/world/world.h"

namespace deadrank::sim {

// True when the operation came back by itself; false when the communicator failed, or patience ran out.
// NCCL never gives up, so the caller looks again and again instead of waiting.
bool completed_in_time(World& world, Comm& comm, Work& work, Time patience);

// ── Who takes part.
//
// Before each step every replica comes to the next round at the store: it says which step it is ready to
// make. Whoever sees that all members of the last round have come, or has waited long enough, proposes those
// that came, and the store keeps the first proposal. So there is one answer, whoever dies, stops or is late.

struct Quorum {
    std::int64_t round = -1;
    std::int64_t step = 0;           // that is made next: the newest state that a member has
    Rank source = results::no_rank;  // a member that has it
    std::int64_t communicator = -1;  // the round in which theirs was made; this round: it is to be made
    std::vector<Rank> members;       // ascending
    std::vector<Rank> behind;        // members with an older state

    bool has(Rank replica) const { return std::binary_search(members.begin(), members.end(), replica); }
    std::string text() const;
    static Quorum from(std::int64_t round, std::string_view text);
};

struct RoundRules {
    Rank replicas = 1;              // members of a quorum at most; others are spares
    Rank processes = 1;             // that the launcher starts
    Rank least = 1;                 // members at least
    std::int64_t end = 0;           // the step with which training is over
    Time patience{0};               // with one who does not come
    bool counts_everybody = false;  // takes for members whom the launcher started, dead or alive
    bool heals_from_first = false;  // takes it that the first member has the newest state
};

class Rounds {
public:
    // `life`: how often this replica was started before.
    Rounds(Store& store, Rank self, int life, const RoundRules& rules)
        : store_(store), self_(self), life_(life), rules_(rules) {}

    // Waits until there is a quorum that `self` is in; nullopt: training is over without it.
    // `step`: which it can make; `communicator`: the round of the one that it holds, -1 = none.
    std::optional<Quorum> join(std::int64_t step, std::int64_t communicator);

    // All members or none: true when each of them said that the step went well.
    bool agree_on_success(const Quorum& quorum, bool well);

private:
    struct Report {
        Rank replica = 0;
        std::int64_t step = 0, communicator = -1;
    };
    std::optional<Quorum> decided(std::int64_t round, Time patience);
    void catch_up();  // with rounds that went by without this replica
    bool is_over();
    Quorum await(std::int64_t round, std::int64_t step, std::int64_t communicator);
    void propose(std::int64_t round, bool all_came);
    std::vector<Report> reports(std::int64_t round);
    Quorum quorum_of(std::int64_t round, const std::vector<Report>& came) const;

    Store& store_;
    Rank self_;
    int life_;
    RoundRules rules_;
    std::optional<Quorum> last_;  // the last round that this replica knows of
};

// ── Where the parts of the state lie.
//
// Each member keeps its part of the state on its own node's disk, and a copy on that of a member of another
// node. After a loss every part is taken from whichever member still has it.

class LocalCopies {
public:
    // `apart`: places between a member and the one that keeps its copy; 0 = nobody does.
    LocalCopies(World& world, Time patience, Rank apart)
        : world_(world), patience_(patience), apart_(apart) {}

    // All members call it; false when the exchange failed.
    bool save(Comm& comm, std::int64_t step, std::span<const Number> state);

    // The newest state of which all parts are there; its step, or -1 when nothing was ever saved.
    // nullopt: the exchange failed. Throws RankFailure when there are parts and no state is complete.
    std::optional<std::int64_t> restore(Comm& comm, std::vector<Number>& state);

private:
    struct Part {
        std::int64_t step = -1, number = 0, of = 0;
        std::string path;
    };
    std::vector<Part> parts() const;  // on this node
    bool reduce(Comm& comm, std::span<Number> numbers, ReduceOp how);
    void write(const Part& part, std::span<const Number> numbers);
    // `holders`: the place of the member that reads each part.
    bool gather(Comm& comm, std::int64_t step, const std::vector<Number>& holders,
                std::vector<Number>& state);

    World& world_;
    Time patience_;
    Rank apart_;
};

}  // namespace deadrank::sim
