// sim/workloads/group_making.cpp — Parallel groups as torch makes them: every rank of the world calls
// new_group for every group, in one order, and a counter of its own names each of them in the store. A rank
// that leaves out the groups it is not in counts fewer, and meets the wrong ranks under a name.
#include <fmt/format.h>
#include <string>
#include <utility>
#include <vector>

#include "sim/workloads/job.h"

namespace deadrank::sim {

namespace {

std::vector<Rank> strided(Rank base, Rank stride, Rank count, Rank size) {
    std::vector<Rank> members;
    for (Rank i = 0; i < count; ++i) members.push_back((base + i * stride) % size);
    return members;
}

std::string text_of(const std::vector<Rank>& members) {
    std::string text;
    for (const Rank member : members) text += fmt::format("{}{}", text.empty() ? "" : ",", member);
    return text;
}

std::vector<Rank> members_in(std::string_view text) {
    std::vector<Rank> members;
    Rank number = 0;
    for (const char letter : text) {
        if (letter == ',')
            members.push_back(std::exchange(number, 0));
        else
            number = number * 10 + (letter - '0');
    }
    if (!text.empty()) members.push_back(number);
    return members;
}

}  // namespace

// Own groups carry communicators, those of others only a number. The first member leaves the group's key in
// the store; a rank that asks under that name gets the first key left there. At the end of each creation all
// ranks of the world are counted, until the store times out.
std::unique_ptr<Comm> Job::numbered_group(std::string_view name, Rank base, Rank stride, Rank count) {
    std::unique_ptr<Comm> own;
    for (Rank first = 0; first < size_; ++first) {
        if (first / stride % count != 0) continue;
        const bool mine = first == base;
        if (!mine && !world_.block("group.make_others")) continue;
        // All ranks are at one creation, since each ends with all of them counted.
        std::int64_t number = world_.seam("group.number", ++groups_made_);
        if (settings_.groups == GroupMaking::store) number = (store_->add("groups", 1) - 1) / size_ + 1;
        const std::string key = fmt::format("default_pg/{}", number);
        if (mine) {
            const std::vector<Rank> wanted = strided(base, stride, count, size_);
            if (wanted.front() == rank_ && store_->add(key + "/asked", 1) == 1)
                store_->set(key + "/members", text_of(wanted));
            const auto found = store_->wait(key + "/members", settings_.store_timeout);
            if (!found) {
                throw LibraryError(
                    Code::timeout,
                    fmt::format(
                        "torch.distributed.DistStoreError: wait timeout after {}ms, keys: /{}//cuda//0",
                        settings_.store_timeout.count() / 1'000'000, key));
            }
            own = world_.communicator({std::string(name), members_in(*found), rank_});
        }
        const std::string barrier = fmt::format("store_based_barrier_key:{}", number);
        world_.record(results::RendezvousEnter{rank_, size_, world_.text(barrier)});
        const std::int64_t joined = store_->add(barrier, 1);
        if (joined == size_) store_->set(barrier + ":last_worker", "1");
        const bool all = store_->wait(barrier + ":last_worker", settings_.store_timeout).has_value();
        const auto came = static_cast<std::int32_t>(all ? size_ : store_->add(barrier, 0));
        world_.record(results::RendezvousLeave{came, all ? Code::ok : Code::timeout});
        if (!all) {
            throw LibraryError(
                Code::timeout,
                fmt::format("torch.distributed.DistStoreError: Timed out initializing process group in store "
                            "based barrier on rank: {}, for key: {} (world_size={}, num_workers_joined={}, "
                            "timeout={}s)",
                            rank_, barrier, size_, came, settings_.store_timeout.count() / 1'000'000'000));
        }
    }
    return own;
}

}  // namespace deadrank::sim
