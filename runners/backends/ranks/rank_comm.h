// runners/backends/ranks/rank_comm.h — sim::Comm over the communicator of a real library: the same calls,
// real values, real waiting.
#pragma once

#include <memory>

#include "runners/backends/ranks/comm_library.h"
#include "sim/machine/call.h"
#include "sim/world/comm.h"

namespace deadrank::runners {

struct RealPlace {
    results::CommId id = 0;
    std::string name = {};
    std::vector<results::Rank> members = {};
    results::Rank place = 0, size = 0;
};

class RealComm final : public sim::Comm {
public:
    using Number = sim::Number;
    using Rank = results::Rank;

    // Without a wire: its creation was skipped, and every call is refused.
    RealComm(RealRank& rank, CommLibrary& library, std::unique_ptr<Wire> wire, RealPlace place);

    results::CommId id() const override { return at_.id; }
    const std::string& name() const override { return at_.name; }
    Rank rank() const override { return at_.place; }
    Rank size() const override { return at_.size; }
    const std::vector<Rank>& members() const override { return at_.members; }

    void all_reduce(std::span<Number> data, sim::ReduceOp reduce, sim::Dtype dtype) override;
    void broadcast(std::span<Number> data, Rank root, sim::Dtype dtype) override;
    void reduce(std::span<Number> data, Rank root, sim::ReduceOp reduce, sim::Dtype dtype) override;
    void all_gather(std::span<const Number> in, std::span<Number> out, sim::Dtype dtype) override;
    void reduce_scatter(std::span<const Number> in, std::span<Number> out, sim::ReduceOp reduce,
                        sim::Dtype dtype) override;
    void all_to_all(std::span<const Number> in, std::span<Number> out, sim::Dtype dtype) override;
    void barrier() override;
    void send(std::span<const Number> data, Rank peer, int tag, sim::Dtype dtype) override;
    void recv(std::span<Number> data, Rank peer, int tag, sim::Dtype dtype) override;

    std::unique_ptr<sim::Work> all_reduce_async(std::span<Number> data, sim::ReduceOp reduce,
                                                sim::Dtype dtype) override;
    std::unique_ptr<sim::Work> all_gather_async(std::span<const Number> in, std::span<Number> out,
                                                sim::Dtype dtype) override;
    std::unique_ptr<sim::Work> reduce_scatter_async(std::span<const Number> in, std::span<Number> out,
                                                    sim::ReduceOp reduce, sim::Dtype dtype) override;
    std::unique_ptr<sim::Work> send_async(std::span<const Number> data, Rank peer, int tag,
                                          sim::Dtype dtype) override;
    std::unique_ptr<sim::Work> recv_async(std::span<Number> data, Rank peer, int tag,
                                          sim::Dtype dtype) override;

    void group_start() override;
    void group_end() override;
    results::Code async_error() override;
    void abort() override;

private:
    class Pending;

    std::unique_ptr<sim::Work> start(RealCall call);
    void run(RealCall call);
    bool intercept_call(RealCall& call, sim::Call& asked);  // true: skip it
    std::unique_ptr<Pending> issue(const RealCall& call, bool stuck);
    void hold(const RealCall& call);
    void release_held();
    [[noreturn]] void refuse(results::Code code, const std::string& text);
    [[noreturn]] void time_out(const Pending& late);
    [[noreturn]] void take_down(const std::string& why);
    void look_for_errors();

    RealRank& rank_;
    CommLibrary& library_;
    std::unique_ptr<Wire> wire_;
    RealPlace at_;
    std::int64_t called_ = 0, p2p_called_ = 0;
    int group_depth_ = 0;
    bool aborted_ = false;
    results::Time next_look_{0};
    std::vector<std::unique_ptr<sim::Work>> group_;
    std::unique_ptr<RealCall> held_;
    // Calls whose callers did not wait, and the data of held calls: the library still works on them.
    std::vector<std::shared_ptr<Operation>> orphans_;
    std::vector<std::unique_ptr<std::vector<Number>>> copies_;
};

}  // namespace deadrank::runners
