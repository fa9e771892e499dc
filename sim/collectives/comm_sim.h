// sim/collectives/comm_sim.h — A communicator of the simulated cluster as one rank holds it.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "sim/collectives/communicator.h"
#include "sim/collectives/work.h"
#include "sim/world/world.h"

namespace deadrank::sim {

struct Fabric;
struct Call;

// A rank's own end of a simulated communicator: what it calls is shown, altered from outside, and entered.
class SimComm final : public Comm {
public:
    // Without a communicator (its creation was skipped) every call is refused as NCCL refuses a null comm.
    SimComm(Fabric& machine, Process& process, Communicator* comm, Rank index, CommId id, std::string name);
    ~SimComm() override;

    CommId id() const override { return id_; }
    const std::string& name() const override { return name_; }
    Rank rank() const override { return index_; }
    Rank size() const override;
    const std::vector<Rank>& members() const override;
    bool moves_host_memory() const override;

    void all_reduce(std::span<Number> data, ReduceOp reduce, Dtype dtype) override;
    void broadcast(std::span<Number> data, Rank root, Dtype dtype) override;
    void reduce(std::span<Number> data, Rank root, ReduceOp reduce, Dtype dtype) override;
    void all_gather(std::span<const Number> in, std::span<Number> out, Dtype dtype) override;
    void reduce_scatter(std::span<const Number> in, std::span<Number> out, ReduceOp reduce,
                        Dtype dtype) override;
    void all_to_all(std::span<const Number> in, std::span<Number> out, Dtype dtype) override;
    void barrier() override;
    void send(std::span<const Number> data, Rank peer, int tag, Dtype dtype) override;
    void recv(std::span<Number> data, Rank peer, int tag, Dtype dtype) override;

    std::unique_ptr<Work> all_reduce_async(std::span<Number> data, ReduceOp reduce, Dtype dtype) override;
    std::unique_ptr<Work> all_gather_async(std::span<const Number> in, std::span<Number> out,
                                           Dtype dtype) override;
    std::unique_ptr<Work> reduce_scatter_async(std::span<const Number> in, std::span<Number> out,
                                               ReduceOp reduce, Dtype dtype) override;
    std::unique_ptr<Work> broadcast_async(std::span<Number> data, Rank root, Dtype dtype) override;
    std::unique_ptr<Work> reduce_async(std::span<Number> data, Rank root, ReduceOp reduction,
                                       Dtype dtype) override;
    std::unique_ptr<Work> all_to_all_async(std::span<const Number> in, std::span<Number> out,
                                           Dtype dtype) override;
    std::unique_ptr<Work> barrier_async() override;
    std::unique_ptr<Work> send_async(std::span<const Number> data, Rank peer, int tag, Dtype dtype) override;
    std::unique_ptr<Work> recv_async(std::span<Number> data, Rank peer, int tag, Dtype dtype) override;

    std::unique_ptr<Work> collective(const ByteCall& call) override;
    std::unique_ptr<Work> send_bytes(std::span<const std::byte> data, Rank peer, int tag,
                                     Dtype dtype) override;
    std::unique_ptr<Work> recv_bytes(std::span<std::byte> data, Rank peer, int tag, Dtype dtype) override;
    std::unique_ptr<Work> send_size(std::int64_t count, Rank peer, int tag, Dtype dtype) override;
    std::unique_ptr<Work> recv_size(std::int64_t count, Rank peer, int tag, Dtype dtype) override;

    void group_start() override { ++group_depth_; }
    void group_end() override;
    void batch_start() override;
    void batch_end() override { batch_ = 0; }
    void keep(std::shared_ptr<const void> buffer) override;
    Code async_error() override;
    void abort() override;
    void destroy() override;

private:
    struct Held;

    void check(results::Op op);
    void check_sizes(const Offer& offer, Op op) const;
    enum class Answer { go_on, skip, hold };
    Answer intercept_call(Offer& offer);
    Answer call_interceptor(Offer& offer);
    void refuse(Code code, std::string_view last_error);
    void refuse_call(Code code, results::Op op);
    std::int64_t issue(const Offer& offer);
    void run(Offer offer);
    std::unique_ptr<Work> start(Offer offer);
    std::unique_ptr<Work> start(Offer offer, std::unique_ptr<SimWork> work);
    void hold(const Offer& offer);
    void release_held();
    void check_fingerprint(std::int64_t seq);
    std::unique_ptr<SimP2pWork> p2p(bool is_send, const Number* in, Number* out, std::int64_t size, Rank peer,
                                    int tag, Dtype dtype);
    std::unique_ptr<SimP2pWork> p2p(std::unique_ptr<SimP2pWork> work, Rank peer);
    std::unique_ptr<Work> message(bool is_send, std::int64_t count, std::span<const std::byte> in,
                                  std::span<std::byte> out, Rank peer, int tag, Dtype dtype);
    void release_held_p2p(bool is_send);

    Fabric& machine_;
    Process& process_;
    Communicator* comm_;
    Rank index_;
    CommId id_;
    int group_depth_ = 0;
    std::int64_t batch_ = 0;  // that calls belong to
    std::string name_;
    std::vector<std::shared_ptr<const void>> buffers_;  // of the calls in group_, which end before them
    std::vector<std::unique_ptr<Work>> group_;
    std::unique_ptr<Held> held_;
    std::vector<std::unique_ptr<SimP2pWork>> held_p2p_;
    std::vector<std::unique_ptr<Work>> orphans_;  // calls that were held back past their caller's return
    std::vector<std::unique_ptr<std::vector<Number>>> orphan_buffers_;
};

// A collective that was held back to be exchanged with the next one: the call, and a copy of its data.
struct SimComm::Held {
    explicit Held(const Offer& call)
        : offer(call), copy(std::make_unique<std::vector<Number>>(call.in, call.in + call.in_size)) {
        offer.in = copy->data();
        offer.out = nullptr;
        offer.waiting = false;
        if (!offer.bytes) return;
        byte_copy.assign(offer.bytes->in.begin(), offer.bytes->in.end());
        bytes = *offer.bytes;
        bytes.in = byte_copy;
        bytes.out = {};
        offer.wants_bytes = false;
    }

    Offer offer;
    std::unique_ptr<std::vector<Number>> copy;
    ByteCall bytes;
    std::vector<std::byte> byte_copy;
};

}  // namespace deadrank::sim
