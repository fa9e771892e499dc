// inject/shims/nccl/nccl_call.cpp — One NCCL call with its arguments, and the communicators that are open.
#include "inject/shims/nccl/nccl_call.h"

#include "inject/shims/nccl/nccl_below.h"

namespace deadrank::inject::shims {

namespace {

using Reducing = int(const void*, void*, std::size_t, int, int, CommHandle, Stream);
using Rooted = int(const void*, void*, std::size_t, int, int, CommHandle, Stream);
using Plain = int(const void*, void*, std::size_t, int, CommHandle, Stream);
using ReducingToRoot = int(const void*, void*, std::size_t, int, int, int, CommHandle, Stream);
using InPlace = int(void*, std::size_t, int, int, CommHandle, Stream);
using Sending = int(const void*, std::size_t, int, int, CommHandle, Stream);

// Four shapes of arguments cover all of NCCL's collectives.
template <class Shape, class... Arguments>
int call_real(Function which, Arguments... arguments) {
    Shape* function = real<Shape>(which);
    return function ? function(arguments...) : missing(which);
}

}  // namespace

results::Op op_of(Function which) { return results::op_named(moment_of(which)); }

bool is_message(Function which) { return which == Function::send || which == Function::recv; }

int issue(const Collective& c) {
    switch (c.which) {
        case Function::all_reduce:
        case Function::reduce_scatter:
            return call_real<Reducing>(c.which, c.send, c.receive, c.count, c.dtype, c.reduce, c.comm,
                                       c.stream);
        case Function::reduce:
            return call_real<ReducingToRoot>(c.which, c.send, c.receive, c.count, c.dtype, c.reduce, c.root,
                                             c.comm, c.stream);
        case Function::broadcast:
        case Function::gather:
        case Function::scatter:
            return call_real<Rooted>(c.which, c.send, c.receive, c.count, c.dtype, c.root, c.comm, c.stream);
        case Function::all_gather:
        case Function::all_to_all:
            return call_real<Plain>(c.which, c.send, c.receive, c.count, c.dtype, c.comm, c.stream);
        case Function::bcast:
            return call_real<InPlace>(c.which, c.receive, c.count, c.dtype, c.root, c.comm, c.stream);
        case Function::send:
            return call_real<Sending>(c.which, c.send, c.count, c.dtype, c.root, c.comm, c.stream);
        case Function::recv:
            return call_real<InPlace>(c.which, c.receive, c.count, c.dtype, c.root, c.comm, c.stream);
        default:
            return missing(c.which);
    }
}

// ── Handles of freed communicators come back as new ones, so they are forgotten when they are destroyed.

namespace {

std::string name_in(const Config* config) {
    const bool has_name = config && config->size >= sizeof(Config) && config->comm_name;
    return has_name ? config->comm_name : "";
}

Rank rank_in(CommHandle handle) {
    int rank = results::no_rank;
    auto* user_rank = real<int(CommHandle, int*)>(Function::comm_user_rank);
    return user_rank && user_rank(handle, &rank) == nccl_success ? rank : results::no_rank;
}

}  // namespace

Communicator& Communicators::next(Rank rank, std::string name) {
    RankSession& session = session_.rank(rank);
    std::uint32_t& count = count_[session.rank];
    ++count;
    if (name.empty()) name = count == 1 ? "world" : "group" + std::to_string(count - 1);
    return all_.emplace_back(Communicator{&session, count, std::move(name)});
}

Communicator& Communicators::begin(Rank rank, const Config* config) {
    const std::lock_guard lock(guard_);
    return next(rank, name_in(config));
}

void Communicators::made(Communicator& one, CommHandle handle) {
    const std::lock_guard lock(guard_);
    known_[handle] = &one;
}

Communicator& Communicators::of(CommHandle handle) {
    {
        const std::lock_guard lock(guard_);
        if (const auto found = known_.find(handle); found != known_.end()) return *found->second;
    }
    const Rank rank = handle ? rank_in(handle) : results::no_rank;
    const std::lock_guard lock(guard_);
    Communicator*& place = known_[handle];
    if (!place) place = &next(rank, "");
    return *place;
}

void Communicators::forget(CommHandle handle) {
    const std::lock_guard lock(guard_);
    known_.erase(handle);
}

}  // namespace deadrank::inject::shims
