// sim/collectives/work.h — Operations under way that a rank may wait for later. Dropped before its end, an
// operation goes on without a buffer.
#pragma once

#include <memory>

#include "sim/collectives/communicator.h"
#include "sim/world/world.h"

namespace deadrank::sim {

// A collective. It writes down its own end, so that work that is never waited for does not look hung.
class SimWork final : public Work {
public:
    SimWork(Fabric& machine, Process& process, Communicator& comm, Rank index, results::Op op)
        : machine_(machine), process_(process), comm_(comm), index_(index), op_(op) {}
    ~SimWork() override;

    void bind(std::int64_t seq) { seq_ = seq; }
    // Of a call on bytes. It lives as long as this work, and no longer than its caller's memory.
    const ByteCall& own(const ByteCall& call) {
        bytes_ = std::make_unique<ByteCall>(call);
        return *bytes_;
    }
    // … with data of its own, for a call that was held back past its caller's return.
    const ByteCall& own(const ByteCall& call, std::vector<std::byte> data) {
        own(call);
        data_ = std::move(data);
        bytes_->in = data_;
        return *bytes_;
    }
    bool bound() const { return seq_ > 0; }
    void completed();  // told by the communicator

    bool ready() override;
    void wait() override;
    bool wait_for(Time patience, const std::function<bool()>& enough) override;

private:
    void show();
    void check();

    Fabric& machine_;
    Process& process_;
    Communicator& comm_;
    Rank index_;
    results::Op op_;
    std::unique_ptr<ByteCall> bytes_;
    std::vector<std::byte> data_;
    std::int64_t seq_ = 0;  // 0: held back, not issued yet
    bool done_ = false;
    bool shown_ = false;
};

class SimP2pWork final : public Work {
public:
    SimP2pWork(Fabric& machine, Process& process, Communicator& comm)
        : machine_(machine), process_(process), comm_(comm) {}
    ~SimP2pWork() override;

    P2pCall& call() { return *call_; }
    void post();
    Rank source() const override { return call_->from; }
    void own_buffers();  // for a call that was held back past its caller's return
    bool posted() const { return posted_; }

    bool ready() override;
    void wait() override;
    bool wait_for(Time patience, const std::function<bool()>& enough) override;

private:
    void show();

    Fabric& machine_;
    Process& process_;
    Communicator& comm_;
    std::unique_ptr<P2pCall> call_ = std::make_unique<P2pCall>();
    Rank asked_ = 0;  // the peer that it named; the call itself learns whom it came from
    bool posted_ = false;
    bool shown_ = false;
};

// completion_code: what a call that returned before it was complete reports: aborted, or what its library
// noticed. check_usable: throws it for a call on a communicator that this rank aborted, or that failed.
Code completion_code(const Communicator& comm, Rank index);
void check_usable(Fabric& machine, Process& process, Communicator& comm, Rank index);

}  // namespace deadrank::sim
