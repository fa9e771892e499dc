// runners/backends/gpu_rank/nccl_wire.h — A communicator of our ranks over NCCL: one communicator for its
// collectives, and one from each sender to each receiver, opened by their first message. A communicator does
// one thing at a time: on a single communicator, a rank that sends without waiting and then receives would
// block itself.
#pragma once

#include <map>
#include <vector>

#include "runners/backends/gpu_rank/nccl_communicator.h"
#include "runners/backends/gpu_rank/operation.h"

namespace deadrank::runners {

// What all communicators of this process share.
struct NcclContext {
    Api api;
    int device = 0;
    NcclManner manner = {};
    std::unique_ptr<Buffers> buffers = {};
    std::vector<std::shared_ptr<NcclCommunicator>> communicators = {};
};

class NcclWire final : public Wire {
public:
    NcclWire(NcclContext& context, std::shared_ptr<NcclCommunicator> communicator, MeetingPlace here);

    std::shared_ptr<Operation> begin(const RealCall& call) override { return post(call, false); }
    std::shared_ptr<Operation> begin_stuck(const RealCall& call) override { return post(call, true); }
    results::Code async_error() override;
    std::string error_text() const override { return error_; }
    void abort() override;

private:
    std::shared_ptr<Operation> post(const RealCall& call, bool stuck);
    std::shared_ptr<NcclCommunicator> communicator_for(const RealCall& call);
    std::shared_ptr<NcclCommunicator> communicator_between(int from, int to);

    NcclContext& context_;
    std::shared_ptr<NcclCommunicator> communicator_;
    MeetingPlace here_;
    std::map<std::pair<int, int>, std::shared_ptr<NcclCommunicator>> messages_;  // by sender and receiver
    bool aborted_ = false;
    std::string error_;
};

}  // namespace deadrank::runners
