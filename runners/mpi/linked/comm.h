// runners/mpi/linked/comm.h — sim::Comm over an MPI communicator: the same calls, real values, real waiting.
#pragma once

#include <memory>
#include <mpi.h>

#include "runners/mpi/linked/calls.h"
#include "runners/mpi/linked/gate.h"
#include "sim/call.h"
#include "sim/comm.h"

namespace deadrank::runners {

// What all communicators of a rank share.
struct MpiRank {
    Gate& gate;
    Trail& evidence;
    bool watchdog = true;
    results::Time collective_timeout{0};
};

class MpiComm final : public sim::Comm {
public:
    using Number = sim::Number;
    using Rank = results::Rank;

    // MPI_COMM_NULL: its creation was skipped, and every call is refused.
    MpiComm(MpiRank& rank, MPI_Comm comm, results::CommId id, std::string name, std::vector<Rank> members);

    results::CommId id() const override { return id_; }
    const std::string& name() const override { return name_; }
    Rank rank() const override { return place_; }
    Rank size() const override { return size_; }
    const std::vector<Rank>& members() const override { return members_; }

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

    void group_start() override { ++group_depth_; }
    void group_end() override;
    results::Code async_error() override { return results::Code::ok; }  // MPI has none: its calls answer
    void abort() override;

private:
    class Pending;

    std::unique_ptr<sim::Work> start(MpiCall call);
    void run(MpiCall call);
    bool ask(MpiCall& call, sim::Call& asked);  // true: left out
    std::unique_ptr<Pending> issue(const MpiCall& call, bool stuck);
    void hold(const MpiCall& call);
    void release_held();
    [[noreturn]] void refuse(results::Code code, const std::string& text);
    [[noreturn]] void time_out(const Pending& late);

    MpiRank& rank_;
    MPI_Comm comm_;
    results::CommId id_;
    std::string name_;
    std::vector<Rank> members_;
    Rank place_ = 0, size_ = 0;
    std::int64_t called_ = 0, p2p_called_ = 0;
    int group_depth_ = 0;
    bool aborted_ = false;
    std::vector<std::unique_ptr<sim::Work>> group_;
    std::unique_ptr<MpiCall> held_;
    // Calls whose callers went on, and the data of those that were held back: MPI still works on them.
    std::vector<std::shared_ptr<MpiOperation>> orphans_;
    std::vector<std::unique_ptr<std::vector<Number>>> copies_;
};

}  // namespace deadrank::runners
