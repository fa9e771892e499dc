// inject/shims/nccl/other_exports.cpp — What neither moves data nor makes communicators: passed on at its
// moment.
#include "inject/shims/nccl/plain.h"

#pragma GCC visibility push(default)
extern "C" {

using namespace deadrank::inject::shims;

// How the profiler plugin sees that it is not alone.
extern const int deadrank_nccl_interposer;
const int deadrank_nccl_interposer = 1;

int ncclGetUniqueId(UniqueId* id) { return passed(Function::get_unique_id, nullptr, id); }
int ncclMemAlloc(void** made, std::size_t bytes) { return passed(Function::mem_alloc, nullptr, made, bytes); }
int ncclMemFree(void* memory) { return passed(Function::mem_free, nullptr, memory); }

int ncclCommRegister(CommHandle comm, void* buffer, std::size_t bytes, void** handle) {
    return passed(Function::comm_register, comm, comm, buffer, bytes, handle);
}
int ncclCommDeregister(CommHandle comm, void* handle) {
    return passed(Function::comm_deregister, comm, comm, handle);
}
int ncclCommWindowRegister(CommHandle comm, void* buffer, std::size_t bytes, void** window, int flags) {
    return passed(Function::comm_window_register, comm, comm, buffer, bytes, window, flags);
}
int ncclCommWindowDeregister(CommHandle comm, void* window) {
    return passed(Function::comm_window_deregister, comm, comm, window);
}

int ncclRedOpCreatePreMulSum(int* made, void* scalar, int dtype, int residence, CommHandle comm) {
    return passed(Function::red_op_create_pre_mul_sum, comm, made, scalar, dtype, residence, comm);
}
int ncclRedOpDestroy(int reduce, CommHandle comm) {
    return passed(Function::red_op_destroy, comm, reduce, comm);
}

const char* ncclGetErrorString(int code) { return untouched<const char*>(Function::get_error_string, code); }
const char* ncclGetLastError(CommHandle comm) {
    return untouched<const char*>(Function::get_last_error, comm);
}
void ncclResetDebugInit() {
    if (auto* function = real<void()>(Function::reset_debug_init)) function();
}

// The interface for kernels that communicate by themselves, from 2.28.
int ncclDevCommCreate(CommHandle comm, const void* wanted, void* made) {
    return passed(Function::dev_comm_create, comm, comm, wanted, made);
}
int ncclDevCommDestroy(CommHandle comm, const void* made) {
    return passed(Function::dev_comm_destroy, comm, comm, made);
}
Team ncclTeamWorld(CommHandle comm) { return untouched<Team>(Function::team_world, comm); }
Team ncclTeamLsa(CommHandle comm) { return untouched<Team>(Function::team_lsa, comm); }
Team ncclTeamRail(CommHandle comm) { return untouched<Team>(Function::team_rail, comm); }
int ncclTeamRankToWorld(CommHandle comm, Team team, int rank) {
    return untouched<int>(Function::team_rank_to_world, comm, team, rank);
}
int ncclTeamRankToLsa(CommHandle comm, Team team, int rank) {
    return untouched<int>(Function::team_rank_to_lsa, comm, team, rank);
}
int ncclLLA2ACalcSlots(int elements, int bytes) {
    return untouched<int>(Function::ll_a2a_calc_slots, elements, bytes);
}
int ncclLLA2ACreateRequirement(int blocks, int slots, void* handle, void* wanted) {
    return passed(Function::ll_a2a_create_requirement, nullptr, blocks, slots, handle, wanted);
}
int ncclLsaBarrierCreateRequirement(Team team, int barriers, void* handle, void* wanted) {
    return passed(Function::lsa_barrier_create_requirement, nullptr, team, barriers, handle, wanted);
}
int ncclGinBarrierCreateRequirement(CommHandle comm, Team team, int barriers, void* handle, void* wanted) {
    return passed(Function::gin_barrier_create_requirement, comm, comm, team, barriers, handle, wanted);
}

}  // extern "C"
#pragma GCC visibility pop
