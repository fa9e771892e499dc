// inject/standin/nccl/teams.cpp — Who of a communicator can reach whom, by the sizes of its teams: no rank
// loads from another one's memory here, so each is alone in its own, and a rail holds them all.
#include "inject/standin/nccl/communicator.h"
#include "inject/standin/nccl/log.h"

namespace deadrank::standin {

// As nccl_device.h lays it out; that header needs nvcc.
struct Team {
    int size, rank, stride;
};

}  // namespace deadrank::standin

using deadrank::standin::Team;

extern "C" {

Team pncclTeamWorld(ncclComm_t comm) { return {comm->size, comm->rank, 1}; }
Team pncclTeamRail(ncclComm_t comm) { return {comm->size, comm->rank, 1}; }
Team pncclTeamLsa(ncclComm_t) { return {1, 0, 1}; }

int pncclTeamRankToWorld(ncclComm_t comm, Team team, int rank) {
    return comm->rank + (rank - team.rank) * team.stride;
}
int pncclTeamRankToLsa(ncclComm_t, Team team, int rank) { return (rank - team.rank) * team.stride; }

// A number of slots, not a result: none.
int pncclLLA2ACalcSlots(int, int) {
    deadrank::standin::warn("ncclLLA2ACalcSlots is not supported without a GPU: no slots");
    return 0;
}
}
