// sim/collectives/gathering.h — One creation of a communicator: who came to the root so far, and what came of
// it.
#pragma once

#include <string>
#include <vector>

#include "sim/collectives/bootstrap.h"

namespace deadrank::sim {

struct Bootstrap::Gathering {
    enum class State : std::uint8_t { gathering, deciding, ready, failed, hung };

    std::string name;
    Rank alone = results::no_rank;  // the only member's process, where it has but one
    int nth = 0;                    // of this name, as the callers count
    Rank lead = 0;                  // whose unique id it is, as RANK names it
    CommId id = 0;
    State state = State::gathering;
    bool lead_came = false;
    bool some_detail = false;  // TORCH_DISTRIBUTED_DEBUG=DETAIL on some members only
    Rank came = 0;
    std::vector<Rank> ranks;        // as the first to come believes
    std::vector<Rank> processes;    // by place; no_rank: not yet
    std::vector<Rank> turned_away;  // came to a root that had given up
    Code code = Code::ok;
    std::string text;
    Communicator* comm = nullptr;
};

}  // namespace deadrank::sim
