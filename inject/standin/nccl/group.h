// inject/standin/nccl/group.h — Calls between ncclGroupStart and ncclGroupEnd, and the work that they become.
#pragma once

#include <functional>
#include <vector>

#include "inject/standin/nccl/standin_communicator.h"

namespace deadrank::inject::standin {

// Calls on their way into streams. A call outside a group is a group of one; those of one communicator and
// stream in a group are one piece of work, so that messages of both directions can meet.

struct Planned {
    ncclComm_t comm = nullptr;
    Call call;
    const void* send = nullptr;
    void* receive = nullptr;
    cudaStream_t stream = nullptr;
    const void* scale_at = nullptr;  // on a device
    std::int64_t flip_bit = -1;
    bool flip_received = false;
    ncclResult_t later = ncclSuccess;  // an asynchronous error that comes with it
};

class Group {
public:
    static Group& of_this_thread();

    bool open() const { return depth_ > 0; }
    void start() { ++depth_; }
    ncclResult_t end();

    ncclResult_t add(Planned planned);
    // Opening and splitting: at the end of the group all of them run at once.
    void defer(ncclComm_t comm, std::function<ncclResult_t()> job);
    ncclResult_t fail(ncclResult_t code);  // the whole group answers with it

private:
    struct Job {
        ncclComm_t comm;
        std::function<ncclResult_t()> run;
    };
    ncclResult_t run_jobs();
    void launch();

    int depth_ = 0;
    ncclResult_t failed_ = ncclSuccess;
    std::vector<Planned> planned_;
    std::vector<Job> jobs_;
};

// The work that a group leaves in a stream: read the buffers, tell the coordinator, wait for all, and
// let the values appear.

// All of one communicator and one stream, with their sequence numbers. False: there is no such stream.
bool put_into_stream(std::vector<Planned> calls);

// How much of a buffer a call reads and writes on this rank, in bytes.
std::size_t bytes_sent(const Call& call, int rank, int size);
std::size_t bytes_received(const Call& call, int rank, int size);

}  // namespace deadrank::inject::standin
