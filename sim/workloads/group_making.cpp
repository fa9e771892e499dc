// sim/workloads/group_making.cpp — Parallel groups as torch makes them: every rank of the world calls
// new_group for every group, in one order, and a counter of its own names each of them in the store. A rank
// that leaves out the groups it is not in counts fewer, and meets the wrong ranks under a name.
#include <algorithm>
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

// A group whose communicator comes to be at the first call of a member, as torch makes one where it was not
// told a device: whoever calls first waits for all others to call it as well.
class LazyComm final : public Comm {
public:
    LazyComm(World& world, CommRequest request) : world_(world), request_(std::move(request)) {
        for (Rank place = 0; place < request_.members.size(); ++place)
            members_.push_back(request_.members[place]);
    }

    CommId id() const override { return made_ ? made_->id() : 0; }
    const std::string& name() const override { return request_.name; }
    Rank rank() const override {
        const auto mine = std::find(members_.begin(), members_.end(), request_.rank);
        return static_cast<Rank>(mine - members_.begin());
    }
    Rank size() const override { return static_cast<Rank>(members_.size()); }
    const std::vector<Rank>& members() const override { return members_; }

    void all_reduce(std::span<Number> data, ReduceOp reduce, Dtype dtype) override {
        made().all_reduce(data, reduce, dtype);
    }
    void broadcast(std::span<Number> data, Rank root, Dtype dtype) override {
        made().broadcast(data, root, dtype);
    }
    void reduce(std::span<Number> data, Rank root, ReduceOp reduce, Dtype dtype) override {
        made().reduce(data, root, reduce, dtype);
    }
    void all_gather(std::span<const Number> in, std::span<Number> out, Dtype dtype) override {
        made().all_gather(in, out, dtype);
    }
    void reduce_scatter(std::span<const Number> in, std::span<Number> out, ReduceOp reduce,
                        Dtype dtype) override {
        made().reduce_scatter(in, out, reduce, dtype);
    }
    void all_to_all(std::span<const Number> in, std::span<Number> out, Dtype dtype) override {
        made().all_to_all(in, out, dtype);
    }
    void barrier() override { made().barrier(); }
    void send(std::span<const Number> data, Rank peer, int tag, Dtype dtype) override {
        made().send(data, peer, tag, dtype);
    }
    void recv(std::span<Number> data, Rank peer, int tag, Dtype dtype) override {
        made().recv(data, peer, tag, dtype);
    }
    std::unique_ptr<Work> all_reduce_async(std::span<Number> data, ReduceOp reduce, Dtype dtype) override {
        return made().all_reduce_async(data, reduce, dtype);
    }
    std::unique_ptr<Work> all_gather_async(std::span<const Number> in, std::span<Number> out,
                                           Dtype dtype) override {
        return made().all_gather_async(in, out, dtype);
    }
    std::unique_ptr<Work> reduce_scatter_async(std::span<const Number> in, std::span<Number> out,
                                               ReduceOp reduce, Dtype dtype) override {
        return made().reduce_scatter_async(in, out, reduce, dtype);
    }
    std::unique_ptr<Work> broadcast_async(std::span<Number> data, Rank root, Dtype dtype) override {
        return made().broadcast_async(data, root, dtype);
    }
    std::unique_ptr<Work> reduce_async(std::span<Number> data, Rank root, ReduceOp reduction,
                                       Dtype dtype) override {
        return made().reduce_async(data, root, reduction, dtype);
    }
    std::unique_ptr<Work> all_to_all_async(std::span<const Number> in, std::span<Number> out,
                                           Dtype dtype) override {
        return made().all_to_all_async(in, out, dtype);
    }
    std::unique_ptr<Work> send_async(std::span<const Number> data, Rank peer, int tag, Dtype dtype) override {
        return made().send_async(data, peer, tag, dtype);
    }
    std::unique_ptr<Work> recv_async(std::span<Number> data, Rank peer, int tag, Dtype dtype) override {
        return made().recv_async(data, peer, tag, dtype);
    }
    void group_start() override { made().group_start(); }
    void group_end() override { made().group_end(); }
    void keep(std::shared_ptr<const void> buffer) override {
        if (made_) made_->keep(std::move(buffer));
    }
    Code async_error() override { return made_ ? made_->async_error() : Code::ok; }
    void abort() override {
        if (made_) made_->abort();
    }

private:
    Comm& made() {
        if (!made_) made_ = world_.communicator(request_);
        return *made_;
    }

    World& world_;
    CommRequest request_;
    std::vector<Rank> members_;
    std::unique_ptr<Comm> made_;
};

}  // namespace

CommRequest Job::with_store_meeting(CommRequest request) const {
    if (store_) request.meeting = store_->meeting();
    return request;
}

std::unique_ptr<Comm> Job::make_group(CommRequest request) {
    request = with_store_meeting(std::move(request));
    if (settings_.groups == GroupMaking::first_call)
        return std::make_unique<LazyComm>(world_, std::move(request));
    return world_.communicator(request);
}

namespace {

[[noreturn]] void refuse_missing(const std::string& key, Time timeout) {
    throw LibraryError(
        Code::timeout,
        fmt::format("torch.distributed.DistStoreError: wait timeout after {}ms, keys: /{}//cuda//0",
                    timeout.count() / 1'000'000, key));
}

}  // namespace

// One creation. Own groups carry communicators, those of others only a number. The first member leaves the
// group's key in the store; a rank that asks under that name gets the first key left there. At the end all
// ranks of the world are counted, until the store times out.
std::unique_ptr<Comm> Job::created_group(std::string_view name, const std::vector<Rank>& wanted, bool mine) {
    std::unique_ptr<Comm> own;
    // All ranks are at one creation, since each ends with all of them counted.
    std::int64_t number = world_.seam("group.number", ++groups_made_);
    if (settings_.groups == GroupMaking::store) number = (store_->add("groups", 1) - 1) / size_ + 1;
    const std::string key = fmt::format("default_pg/{}", number);
    if (mine) {
        if (wanted.front() == rank_ && store_->add(key + "/asked", 1) == 1)
            store_->set(key + "/members", text_of(wanted));
        const auto found = store_->wait(key + "/members", settings_.store_timeout);
        if (!found) refuse_missing(key, settings_.store_timeout);
        own = world_.communicator(
            with_store_meeting({.name = std::string(name), .members = members_in(*found), .rank = rank_}));
    }
    const std::string barrier = fmt::format("store_based_barrier_key:{}", number);
    world_.record(results::RendezvousEnter{rank_, size_, world_.text(barrier)});
    const std::int64_t joined = store_->add(barrier, 1);
    if (joined == size_) store_->set(barrier + ":last_worker", "1");
    const bool all = store_->wait(barrier + ":last_worker", settings_.store_timeout).has_value();
    const auto came = static_cast<std::int32_t>(all ? size_ : store_->add(barrier, 0));
    world_.record(results::RendezvousLeave{came, all ? Code::ok : Code::timeout});
    if (all) return own;
    throw LibraryError(
        Code::timeout,
        fmt::format("torch.distributed.DistStoreError: Timed out initializing process group in store "
                    "based barrier on rank: {}, for key: {} (world_size={}, num_workers_joined={}, "
                    "timeout={}s)",
                    rank_, barrier, size_, came, settings_.store_timeout.count() / 1'000'000'000));
}

std::unique_ptr<Comm> Job::numbered_group(std::string_view name, Rank base, Rank stride, Rank count) {
    std::unique_ptr<Comm> own;
    for (Rank first = 0; first < size_; ++first) {
        if (first / stride % count != 0) continue;
        const bool mine = first == base;
        if (!mine && !world_.block("group.make_others")) continue;
        const std::vector<Rank> wanted = mine ? strided(base, stride, count, size_) : std::vector<Rank>{};
        auto made = created_group(name, wanted, mine);
        if (mine) own = std::move(made);
    }
    return own;
}

}  // namespace deadrank::sim
