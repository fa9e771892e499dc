// inject/shims/nccl/communicators.cpp — Handles of freed communicators come back as new ones, so they are
// forgotten when they are destroyed.
#include "inject/shims/nccl/communicators.h"

#include "inject/shims/nccl/library.h"

namespace deadrank::inject::shims {

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
