// inject/shims/mpi/mpi_below.h — The functions of the Open MPI that is loaded, and the communicators made
// by it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mpi.h>
#include <mutex>
#include <string>

#include "inject/shims/core/session.h"
#include "results/record/codes.h"

namespace deadrank::inject::shims {

// ── The Open MPI below us: the one that the program loaded, found by name at the first call, so that this
// library links no MPI and loads into any program.

// The functions that we wrap.
enum class Function : std::uint8_t {
    send,
    ssend,
    isend,
    recv,
    irecv,
    send_recv,
    barrier,
    broadcast,
    reduce,
    all_reduce,
    all_gather,
    gather,
    scatter,
    all_to_all,
    reduce_scatter,
    reduce_scatter_block,
    ibarrier,
    ibroadcast,
    iall_reduce,
    wait,
    wait_all,
    wait_any,
    wait_some,
    test,
    test_all,
    test_any,
    test_some,
    init,
    init_thread,
    finalize,
    abort,
    comm_dup,
    comm_split,
    comm_split_type,
    comm_create,
    cart_create,
    comm_set_name,
    comm_free,
    count
};

inline constexpr auto function_count = static_cast<std::size_t>(Function::count);

const char* moment_of(Function which);  // as a plan's `before` calls it: "all_reduce", "comm_init"
results::Op op_of(Function which);      // `none` where nothing is moved
bool is_message(Function which);

// The next one after ours in the search order; else the one in a libmpi that Python loaded with RTLD_LOCAL.
// Null when there is none.
void* search(const char* symbol);
void* search(Function which);
[[noreturn]] void missing(const char* symbol);  // a program without an MPI cannot have come here

inline void* find(Function which) {
    // Of the process, like the library itself: there is one MPI below.
    static std::array<std::atomic<void*>, function_count> found{};
    auto& place = found[static_cast<std::size_t>(which)];
    if (void* known = place.load(std::memory_order_relaxed)) return known;
    void* const known = search(which);
    place.store(known, std::memory_order_relaxed);
    return known;
}

// The real one: real<decltype(PMPI_Send)>(Function::send)(…).
template <class Shape>
Shape* real(Function which) {
    return reinterpret_cast<Shape*>(find(which));
}

// One that we only ask: helper<decltype(PMPI_Comm_size)>("PMPI_Comm_size")(…). Rare enough to be looked up.
template <class Shape>
Shape* helper(const char* symbol) {
    void* const known = search(symbol);
    if (!known) missing(symbol);
    return reinterpret_cast<Shape*>(known);
}

// MPI's own objects are variables of its library: object<MPI_Comm>("ompi_mpi_comm_world").
void* object_named(const char* symbol);
template <class Handle>
Handle object(const char* symbol) {
    return reinterpret_cast<Handle>(object_named(symbol));
}
MPI_Comm world_handle();
MPI_Comm self_handle();
MPI_Request no_request();

results::Dtype dtype_of(MPI_Datatype type);  // `none` for what the evidence has no word for
MPI_Datatype type_of(results::Dtype dtype);  // null where MPI has none: half precision
results::ReduceOp reduce_of(MPI_Op reduce);
MPI_Op reduce_of(results::ReduceOp reduce);  // null where MPI has none: the average
int error_of(results::Code code);            // an error class
results::Code code_of(int error);

// The communicators of this process. All members of one agree on its number, and no other has it: the world
// is 1; another one's comes from its parent's number, its index among the children, and its first member.
struct Communicator {
    RankSession* rank = nullptr;
    results::CommId number = 0;
    std::string name;     // world, group1, group2, … until the program names it
    std::string members;  // ranks of the world
    int size = 0, place = -1;
    std::int64_t collectives = 0, messages = 0;  // calls so far
    int children = 0;
};

class Communicators {
public:
    explicit Communicators(Session& session) : session_(session) {}

    Communicator& world();
    Communicator& of(MPI_Comm handle);  // one whose making we did not see is added here

    // What the members of `parent` now make together; all of them give it the same number.
    Communicator& making(Communicator& parent);
    // What came of it for this rank.
    Communicator& made(const Communicator& making, MPI_Comm handle, bool same_members);

    void name(MPI_Comm handle, const char* name);
    void forget(MPI_Comm handle);

private:
    void know_members(Communicator& one, MPI_Comm handle);

    Session& session_;
    std::mutex guard_;
    std::deque<Communicator> all_;  // addresses stay valid
    std::map<MPI_Comm, Communicator*> known_;
    int groups_ = 0, strangers_ = 0;
};

}  // namespace deadrank::inject::shims
