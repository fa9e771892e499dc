// inject/shims/mpi/communicator_exports.cpp — The beginning, the end, and communicators, as the program calls
// them.
#include "inject/shims/mpi/interposer.h"

#pragma GCC visibility push(default)
extern "C" {

using namespace deadrank::inject::shims;

int MPI_Init(int* count, char*** words) {
    constexpr Function which = Function::init;
    const auto call = [&] { return real<decltype(PMPI_Init)>(which)(count, words); };
    return watching() ? Interposer::here().begin(which, call) : call();
}
int MPI_Init_thread(int* count, char*** words, int required, int* provided) {
    constexpr Function which = Function::init_thread;
    const auto call = [&] {
        return real<decltype(PMPI_Init_thread)>(which)(count, words, required, provided);
    };
    return watching() ? Interposer::here().begin(which, call) : call();
}
int MPI_Finalize() {
    const auto call = [&] { return real<decltype(PMPI_Finalize)>(Function::finalize)(); };
    return watching() ? Interposer::here().end(call) : call();
}
int MPI_Abort(MPI_Comm comm, int code) {
    const auto call = [&] { return real<decltype(PMPI_Abort)>(Function::abort)(comm, code); };
    return watching() ? Interposer::here().abort(comm, call) : call();
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) {
    constexpr Function which = Function::comm_dup;
    const auto call = [&] { return real<decltype(PMPI_Comm_dup)>(which)(comm, made); };
    return watching() ? Interposer::here().derive(which, comm, made, true, call) : call();
}
int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* made) {
    constexpr Function which = Function::comm_split;
    const auto call = [&] { return real<decltype(PMPI_Comm_split)>(which)(comm, color, key, made); };
    return watching() ? Interposer::here().derive(which, comm, made, false, call) : call();
}
int MPI_Comm_split_type(MPI_Comm comm, int kind, int key, MPI_Info information, MPI_Comm* made) {
    constexpr Function which = Function::comm_split_type;
    const auto call = [&] {
        return real<decltype(PMPI_Comm_split_type)>(which)(comm, kind, key, information, made);
    };
    return watching() ? Interposer::here().derive(which, comm, made, false, call) : call();
}
int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* made) {
    constexpr Function which = Function::comm_create;
    const auto call = [&] { return real<decltype(PMPI_Comm_create)>(which)(comm, group, made); };
    return watching() ? Interposer::here().derive(which, comm, made, false, call) : call();
}
int MPI_Cart_create(MPI_Comm comm, int dimensions, const int* sizes, const int* periodic, int reorder,
                    MPI_Comm* made) {
    constexpr Function which = Function::cart_create;
    const auto call = [&] {
        return real<decltype(PMPI_Cart_create)>(which)(comm, dimensions, sizes, periodic, reorder, made);
    };
    return watching() ? Interposer::here().derive(which, comm, made, false, call) : call();
}
int MPI_Comm_set_name(MPI_Comm comm, const char* name) {
    if (watching()) Interposer::here().name(comm, name);
    return real<decltype(PMPI_Comm_set_name)>(Function::comm_set_name)(comm, name);
}
int MPI_Comm_free(MPI_Comm* comm) {
    const auto call = [&] { return real<decltype(PMPI_Comm_free)>(Function::comm_free)(comm); };
    return watching() ? Interposer::here().free(comm, call) : call();
}

}  // extern "C"
#pragma GCC visibility pop
