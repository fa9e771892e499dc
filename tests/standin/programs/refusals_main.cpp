// tests/standin/programs/refusals_main.cpp — Calls what needs a GPU's memory or kernels, and prints each
// answer: whoever probes for a feature must get an answer that it can act on.
#include "tests/standin/programs/rank.h"

extern "C" {
// Of nccl_device.h, which only nvcc reads: pointers to its structs are enough here.
struct Team {
    int size, rank, stride;
};
ncclResult_t ncclDevCommCreate(ncclComm_t, const void* needs, void* into);
ncclResult_t ncclDevCommDestroy(ncclComm_t, const void* device);
ncclResult_t ncclLsaBarrierCreateRequirement(Team, int barriers, void* into, void* needs);
ncclResult_t ncclGinBarrierCreateRequirement(ncclComm_t, Team, int barriers, void* into, void* needs);
ncclResult_t ncclLLA2ACreateRequirement(int blocks, int slots, void* into, void* needs);
int ncclLLA2ACalcSlots(int elements, int size);
Team ncclTeamWorld(ncclComm_t);
Team ncclTeamRail(ncclComm_t);
Team ncclTeamLsa(ncclComm_t);
int ncclTeamRankToWorld(ncclComm_t, Team, int rank);
int ncclTeamRankToLsa(ncclComm_t, Team, int rank);
}

namespace {

void say(const char* name, int answer) { std::printf("%s %d\n", name, answer); }

}  // namespace

int main() {
    using program::good;
    ncclComm_t comms[2] = {};
    good(ncclCommInitAll(comms, 2, nullptr), "ncclCommInitAll");
    const ncclComm_t comm = comms[1];
    char room[512] = {};
    ncclWindow_t window = nullptr;
    say("CommWindowRegister", ncclCommWindowRegister(comm, room, sizeof room, &window, 0));
    say("CommWindowDeregister", ncclCommWindowDeregister(comm, window));
    say("CommRevoke", ncclCommRevoke(comm, 0));
    say("DevCommCreate", ncclDevCommCreate(comm, room, room));
    say("DevCommDestroy", ncclDevCommDestroy(comm, room));
    const Team world = ncclTeamWorld(comm), rail = ncclTeamRail(comm), own = ncclTeamLsa(comm);
    say("LsaBarrierCreateRequirement", ncclLsaBarrierCreateRequirement(own, 1, room, room));
    say("GinBarrierCreateRequirement", ncclGinBarrierCreateRequirement(comm, rail, 1, room, room));
    say("LLA2ACreateRequirement", ncclLLA2ACreateRequirement(1, 1, room, room));
    say("LLA2ACalcSlots", ncclLLA2ACalcSlots(16, 4));
    std::printf("world %d of %d, rail %d of %d, own %d of %d\n", world.rank, world.size, rail.rank, rail.size,
                own.rank, own.size);
    say("TeamRankToWorld", ncclTeamRankToWorld(comm, own, 0));
    say("TeamRankToLsa", ncclTeamRankToLsa(comm, own, 0));
    for (const ncclComm_t one : comms) good(ncclCommDestroy(one), "ncclCommDestroy");
    return 0;
}
