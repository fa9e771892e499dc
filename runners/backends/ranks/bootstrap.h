// runners/backends/ranks/bootstrap.h — A communicator by name: its members find its number at the meeting
// place, then the library makes it. Who never comes is waited for without an end, as NCCL's bootstrap does.
#pragma once

#include <memory>

#include "runners/backends/ranks/library.h"
#include "sim/world/world.h"

namespace deadrank::runners {

struct Joiner {
    results::Rank process = 0;
    int nth = 0;  // how often it has asked for that name before
    results::Time store_timeout{0};
};

std::unique_ptr<sim::Comm> join_communicator(RealRank& rank, Library& library, const MeetingPlace& place,
                                             const Joiner& joiner, const sim::CommRequest& request);

}  // namespace deadrank::runners
