// inject/shims/mpi/communicators.cpp — Handles of freed communicators come back as new ones, so they are
// forgotten when they are freed.
#include "inject/shims/mpi/communicators.h"

#include <cstdlib>
#include <numeric>
#include <vector>

#include "inject/shims/core/greeting.h"

namespace deadrank::inject::shims {

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
    // By a function that we do not stand before. What the world makes knowingly keeps its numbers.
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
