// runners/mpi/linked/bootstrap.h — A communicator by name: its members find each other at the meeting place,
// then MPI makes it. Who never comes is waited for without an end, as NCCL's bootstrap does.
#pragma once

#include <memory>

#include "runners/mpi/linked/comm.h"
#include "runners/mpi/linked/meeting_place.h"
#include "sim/world.h"

namespace deadrank::runners {

struct Joining {
    results::Rank process = 0;
    int nth = 0;  // how often it has asked for that name before
    results::Time store_timeout{0};
};

std::unique_ptr<sim::Comm> join_communicator(MpiRank& rank, const MeetingPlace& place, const Joining& joining,
                                             const sim::CommRequest& request);

}  // namespace deadrank::runners
