// runners/backends/gpu_rank/operation.h — One call of NCCL: its data on the device, the call itself as a job
// of the lane, and an event behind it in the stream.
#pragma once

#include <atomic>
#include <memory>

#include "runners/backends/gpu_rank/buffers.h"
#include "runners/backends/gpu_rank/nccl_communicator.h"
#include "runners/backends/ranks/comm_library.h"

namespace deadrank::runners {

class NcclOperation final : public Operation {
public:
    // Takes over the caller's data. `stuck`: puts work that never ends into the stream before the call.
    NcclOperation(std::shared_ptr<NcclCommunicator> communicator, Buffers& buffers, const RealCall& call,
                  bool stuck);
    ~NcclOperation() override;

    void run();  // on the lane

    bool done() override;
    results::Code code() const override { return code_; }
    std::string error_text() const override { return error_; }

private:
    int call();
    void deliver();
    int exchange(NcclType type, std::size_t count);

    std::shared_ptr<NcclCommunicator> communicator_;
    Buffers& buffers_;
    RealCall call_;
    bool stuck_;
    bool there_ = false;  // its data is on the device already
    bool late_ = false;   // its data is read from the program's buffer when it is launched
    Buffer in_, out_;
    CudaEvent event_ = nullptr;
    std::atomic<int> answer_ = -1;  // NCCL's code; -1 = the call has not returned
    bool over_ = false;
    results::Code code_ = results::Code::ok;
    std::string error_;
};

}  // namespace deadrank::runners
