// results/analysis/waits.h — Which ranks wait for which at one moment, and which are at the end of the chain:
// those that are waited for and do not wait themselves, or that closed a cycle.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "results/analysis/call_disagreement.h"

namespace deadrank::results::analysis {

struct Circle;

// What one process waits in.
struct Wait {
    const Communicator* comm = nullptr;
    Op op = Op::none;  // none: it destroys the group
    std::int64_t seq = 0;
    Time since{0};
    std::vector<Rank> for_whom;              // processes that have not come
    const Collective* collective = nullptr;  // null for send and receive
};

enum class Root { absent, beyond, circle, disagreement, all_came };

struct Standstill {
    bool any = false;
    Root kind = Root::absent;
    std::vector<Rank> culprits;   // empty when all came and no rank is odd
    std::vector<Rank> stuck;      // all ranks that wait
    Wait last;                    // the wait that the culprits caused
    Time since{0};                // when the last of the stuck began to wait
    std::string why;              // "rank 3 never entered all_reduce (operation 41 of world)"
    std::string cause;            // id of the likely root cause
    std::string else_cause = {};  // of another one that may be, if any
    // The culprits never entered the last wait's call, or entered it with another one.
    bool call_skipped = false;

    std::vector<std::string> causes() const;
    // The stuck ones without the culprits, where those never came, and perhaps wait elsewhere.
    std::vector<Rank> victims() const;
};

class Waits {
public:
    // As it was at `when`, in that attempt. Processes that ended before do not wait, but are waited for.
    Waits(const Evidence& evidence, int attempt, Time when);

    const std::map<Rank, std::vector<Wait>>& waits() const { return waits_; }
    Standstill standstill() const;

    static std::string call_text(const Wait& wait);  // "all_reduce (operation 41 of world)"

private:
    void take_collectives(const Communicator& comm);
    void take_p2p(const Communicator& comm);
    void take_teardowns();
    void describe_teardown(Standstill& found) const;
    std::vector<Rank> next_of(Rank process) const;
    bool find_culprits_at_end(Standstill& found) const;
    bool find_culprits_in_meeting(Standstill& found) const;
    bool passed_call(const Standstill& found) const;
    bool used_world_instead(const Standstill& found) const;
    void describe_passed_call(Standstill& found) const;
    std::vector<Rank> find_ranks_left_behind(const Wait& wait) const;
    std::vector<Rank> find_latecomers(const Wait& wait) const;
    std::vector<Rank> find_stuck_groups() const;
    void name_ranks_inside(Standstill& found) const;
    const Wait* find_nearly_complete_wait(const Circle& circle) const;
    std::vector<Rank> find_missing_elsewhere(const Circle& circle, const Wait& least) const;
    const Wait* wait_for(const std::vector<Rank>& culprits) const;
    void find_culprits_in_circles(Standstill& found) const;
    Standstill find_culprits_in(const Circle& circle) const;
    std::vector<Rank> find_culprits_by_habit(const Circle& circle) const;
    bool find_culprits_by_message(const Circle& circle, Standstill& found) const;
    bool continued_without(const Wait& wait, Rank waiting, Rank missing) const;
    std::string_view raised_by(Rank rank) const;
    bool find_culprits_by_error(const Circle& circle, Standstill& found) const;
    std::string format_circle(const Circle& circle) const;
    std::string describe_ranks_left_behind(const Standstill& found) const;
    void explain(Standstill& found) const;

    const Evidence& evidence_;
    const Lives& lives_;
    const Calls& calls_;
    int attempt_;
    Time when_;
    std::map<Rank, std::vector<Wait>> waits_;
};

}  // namespace deadrank::results::analysis
