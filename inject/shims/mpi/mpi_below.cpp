// inject/shims/mpi/mpi_below.cpp — The functions of the Open MPI that is loaded, and the communicators made
// by it.
#include "inject/shims/mpi/mpi_below.h"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <numeric>
#include <vector>

#include "inject/shims/core/below.h"
#include "inject/shims/core/session.h"

namespace deadrank::inject::shims {

// ── Symbols of Open MPI 4 and 5, whose names and handles are the same.

namespace {

constexpr const char* library = "libmpi.so.40";

constexpr std::array<CallBelow, function_count> names = {{
    {"PMPI_Send", "send"},
    {"PMPI_Ssend", "send"},
    {"PMPI_Isend", "send"},
    {"PMPI_Recv", "recv"},
    {"PMPI_Irecv", "recv"},
    {"PMPI_Sendrecv", "send"},
    {"PMPI_Barrier", "barrier"},
    {"PMPI_Bcast", "broadcast"},
    {"PMPI_Reduce", "reduce"},
    {"PMPI_Allreduce", "all_reduce"},
    {"PMPI_Allgather", "all_gather"},
    {"PMPI_Gather", "gather"},
    {"PMPI_Scatter", "scatter"},
    {"PMPI_Alltoall", "all_to_all"},
    {"PMPI_Reduce_scatter", "reduce_scatter"},
    {"PMPI_Reduce_scatter_block", "reduce_scatter"},
    {"PMPI_Ibarrier", "barrier"},
    {"PMPI_Ibcast", "broadcast"},
    {"PMPI_Iallreduce", "all_reduce"},
    {"PMPI_Wait", "wait"},
    {"PMPI_Waitall", "wait"},
    {"PMPI_Waitany", "wait"},
    {"PMPI_Waitsome", "wait"},
    {"PMPI_Test", "test"},
    {"PMPI_Testall", "test"},
    {"PMPI_Testany", "test"},
    {"PMPI_Testsome", "test"},
    {"PMPI_Init", "comm_init"},
    {"PMPI_Init_thread", "comm_init"},
    {"PMPI_Finalize", "comm_finalize"},
    {"PMPI_Abort", "comm_abort"},
    {"PMPI_Comm_dup", "comm_init"},
    {"PMPI_Comm_split", "comm_init"},
    {"PMPI_Comm_split_type", "comm_init"},
    {"PMPI_Comm_create", "comm_init"},
    {"PMPI_Cart_create", "comm_init"},
    {"PMPI_Comm_set_name", "comm_set_name"},
    {"PMPI_Comm_free", "comm_destroy"},
}};

struct TypeName {
    const char* symbol;
    results::Dtype dtype;
};
// The first of each kind is what a fault puts in the place of another.
constexpr TypeName types[] = {
    {"ompi_mpi_double", results::Dtype::f64},        {"ompi_mpi_float", results::Dtype::f32},
    {"ompi_mpi_int", results::Dtype::i32},           {"ompi_mpi_int64_t", results::Dtype::i64},
    {"ompi_mpi_int8_t", results::Dtype::i8},         {"ompi_mpi_byte", results::Dtype::i8},
    {"ompi_mpi_char", results::Dtype::i8},           {"ompi_mpi_signed_char", results::Dtype::i8},
    {"ompi_mpi_unsigned_char", results::Dtype::i8},  {"ompi_mpi_uint8_t", results::Dtype::i8},
    {"ompi_mpi_int32_t", results::Dtype::i32},       {"ompi_mpi_unsigned", results::Dtype::i32},
    {"ompi_mpi_uint32_t", results::Dtype::i32},      {"ompi_mpi_long", results::Dtype::i64},
    {"ompi_mpi_long_long_int", results::Dtype::i64}, {"ompi_mpi_unsigned_long", results::Dtype::i64},
    {"ompi_mpi_uint64_t", results::Dtype::i64},
};

struct ReduceName {
    const char* symbol;
    results::ReduceOp reduce;
};
constexpr ReduceName reductions[] = {{"ompi_mpi_op_sum", results::ReduceOp::sum},
                                     {"ompi_mpi_op_max", results::ReduceOp::max},
                                     {"ompi_mpi_op_min", results::ReduceOp::min},
                                     {"ompi_mpi_op_prod", results::ReduceOp::prod}};

}  // namespace

const char* moment_of(Function which) { return names[static_cast<std::size_t>(which)].moment; }
results::Op op_of(Function which) { return results::op_named(moment_of(which)); }

void* search(const char* symbol) { return symbol_below(symbol, library); }

void* search(Function which) {
    const char* const symbol = names[static_cast<std::size_t>(which)].symbol;
    void* const known = search(symbol);
    if (!known) missing(symbol);
    return known;
}

void missing(const char* symbol) {
    std::fprintf(stderr, "deadrank: the MPI of this program has no %s; libdeadrank-mpi.so knows Open MPI\n",
                 symbol);
    std::abort();
}

// A program that is no shared object may hold a variable of the library itself: it comes first.
void* object_named(const char* symbol) {
    if (void* const known = ::dlsym(RTLD_DEFAULT, symbol)) return known;
    void* const known = hidden_symbol(symbol, library);
    if (!known) missing(symbol);
    return known;
}

MPI_Comm world_handle() {
    static const auto handle = object<MPI_Comm>("ompi_mpi_comm_world");
    return handle;
}
MPI_Comm self_handle() {
    static const auto handle = object<MPI_Comm>("ompi_mpi_comm_self");
    return handle;
}
MPI_Request no_request() {
    static const auto handle = object<MPI_Request>("ompi_request_null");
    return handle;
}

results::Dtype dtype_of(MPI_Datatype type) {
    for (const TypeName& known : types) {
        if (object<MPI_Datatype>(known.symbol) == type) return known.dtype;
    }
    return results::Dtype::none;
}

MPI_Datatype type_of(results::Dtype dtype) {
    for (const TypeName& known : types) {
        if (known.dtype == dtype) return object<MPI_Datatype>(known.symbol);
    }
    return nullptr;
}

results::ReduceOp reduce_of(MPI_Op reduce) {
    for (const ReduceName& known : reductions) {
        if (object<MPI_Op>(known.symbol) == reduce) return known.reduce;
    }
    return results::ReduceOp::none;
}

MPI_Op reduce_of(results::ReduceOp reduce) {
    for (const ReduceName& known : reductions) {
        if (known.reduce == reduce) return object<MPI_Op>(known.symbol);
    }
    return nullptr;
}

int error_of(results::Code code) {
    using results::Code;
    switch (code) {
        case Code::ok:
        case Code::in_progress:
            return MPI_SUCCESS;
        case Code::internal_error:
            return MPI_ERR_INTERN;
        case Code::invalid_argument:
        case Code::invalid_usage:
            return MPI_ERR_ARG;
        case Code::no_space:
            return MPI_ERR_NO_SPACE;
        case Code::not_found:
            return MPI_ERR_NAME;
        case Code::corrupt:
            return MPI_ERR_TRUNCATE;
        case Code::unhandled_device_error:
            return MPI_ERR_UNKNOWN;
        default:
            return MPI_ERR_OTHER;
    }
}

results::Code code_of(int error) {
    using results::Code;
    if (error == MPI_SUCCESS) return Code::ok;
    int kind = MPI_ERR_OTHER;
    helper<decltype(PMPI_Error_class)>("PMPI_Error_class")(error, &kind);
    switch (kind) {
        case MPI_ERR_INTERN:
            return Code::internal_error;
        case MPI_ERR_OTHER:
        case MPI_ERR_UNKNOWN:
            return Code::system_error;
        case MPI_ERR_NO_SPACE:
        case MPI_ERR_NO_MEM:
            return Code::no_space;
        default:
            return Code::invalid_argument;
    }
}

// ── Handles of freed communicators come back as new ones, so they are forgotten when they are freed.

namespace {

int number_in(const char* name, int otherwise) {
    const char* value = std::getenv(name);
    return value ? std::atoi(value) : otherwise;
}

// In ranks of the world; empty for a communicator between two groups.
std::vector<int> world_ranks_of(MPI_Comm handle) {
    int between = 0, size = 0;
    helper<decltype(PMPI_Comm_test_inter)>("PMPI_Comm_test_inter")(handle, &between);
    if (between) return {};
    MPI_Group mine{}, all{};
    auto* const group_of = helper<decltype(PMPI_Comm_group)>("PMPI_Comm_group");
    group_of(handle, &mine);
    group_of(world_handle(), &all);
    helper<decltype(PMPI_Group_size)>("PMPI_Group_size")(mine, &size);
    std::vector<int> here(static_cast<std::size_t>(size)), there(here.size());
    std::iota(here.begin(), here.end(), 0);
    helper<decltype(PMPI_Group_translate_ranks)>("PMPI_Group_translate_ranks")(mine, size, here.data(), all,
                                                                               there.data());
    auto* const free = helper<decltype(PMPI_Group_free)>("PMPI_Group_free");
    free(&mine);
    free(&all);
    return there;
}

std::string text_of(const std::vector<int>& ranks) {
    std::string text;
    for (const int rank : ranks) text += (text.empty() ? "" : ",") + std::to_string(rank);
    return text;
}

}  // namespace

Communicator& Communicators::world() {
    const std::lock_guard lock(guard_);
    if (!all_.empty()) return all_.front();
    Communicator& one = all_.emplace_back();
    one.rank = &session_.rank(0);  // a program that no launcher started is alone
    one.number = 1;
    one.name = "world";
    one.size = number_in("OMPI_COMM_WORLD_SIZE", 1);
    one.place = one.rank->rank;
    one.members = members_text(one.size);
    return one;
}

void Communicators::know_members(Communicator& one, MPI_Comm handle) {
    const std::vector<int> ranks = world_ranks_of(handle);
    if (ranks.empty()) return;
    one.members = text_of(ranks);
    one.size = static_cast<int>(ranks.size());
    helper<decltype(PMPI_Comm_rank)>("PMPI_Comm_rank")(handle, &one.place);
    one.number = one.number * 1000 + static_cast<results::CommId>(ranks.front()) + 1;
}

Communicator& Communicators::of(MPI_Comm handle) {
    if (handle == world_handle()) return world();
    {
        const std::lock_guard lock(guard_);
        if (const auto found = known_.find(handle); found != known_.end()) return *found->second;
    }
    // Made by a function that we do not wrap. It takes no number from those whose making we see.
    Communicator stranger = world();
    {
        const std::lock_guard lock(guard_);
        stranger.number = stranger.number * 1000 + 900 + static_cast<results::CommId>(++strangers_);
        stranger.name = "group" + std::to_string(++groups_);
        stranger.collectives = stranger.messages = 0;
    }
    return made(stranger, handle, false);
}

Communicator& Communicators::making(Communicator& parent) {
    const std::lock_guard lock(guard_);
    Communicator& one = all_.emplace_back(parent);
    one.number = parent.number * 1000 + static_cast<results::CommId>(++parent.children);
    one.name = "group" + std::to_string(++groups_);
    one.collectives = one.messages = 0;
    one.children = 0;
    return one;
}

Communicator& Communicators::made(const Communicator& making, MPI_Comm handle, bool same_members) {
    const std::lock_guard lock(guard_);
    Communicator& one = all_.emplace_back(making);
    if (!same_members) know_members(one, handle);
    known_[handle] = &one;
    return one;
}

void Communicators::name(MPI_Comm handle, const char* name) {
    if (handle == world_handle() || !name || !*name) return;
    Communicator& one = of(handle);
    const std::lock_guard lock(guard_);
    one.name = name;
}

void Communicators::forget(MPI_Comm handle) {
    const std::lock_guard lock(guard_);
    known_.erase(handle);
}

}  // namespace deadrank::inject::shims
