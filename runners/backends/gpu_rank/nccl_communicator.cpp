// runners/backends/gpu_rank/nccl_communicator.cpp — One communicator of NCCL as this rank holds it: a handle,
// a stream, and the thread that makes its calls.
#include "runners/backends/gpu_rank/nccl_communicator.h"

#include <thread>
#include <utility>

#include "results/record/codes.h"

namespace deadrank::runners {

// Detached: a thread inside a call that never returns cannot be joined.
Lane::Lane(const Job& first) {
    post(first);
    std::thread([shared = shared_] {
        for (;;) {
            std::unique_lock lock(shared->mutex);
            shared->changed.wait(lock, [&] { return shared->over || !shared->jobs.empty(); });
            if (shared->over) return;
            const Job job = std::move(shared->jobs.front());
            shared->jobs.pop();
            lock.unlock();
            job();
        }
    }).detach();
}

Lane::~Lane() {
    const std::lock_guard lock(shared_->mutex);
    shared_->over = true;
    shared_->changed.notify_all();
}

void Lane::post(Job job) {
    const std::lock_guard lock(shared_->mutex);
    shared_->jobs.push(std::move(job));
    shared_->changed.notify_all();
}

// ── A new thread begins on device 0, whatever its process chose.

namespace {
constexpr std::chrono::microseconds line_look_again{200};
constexpr int timeout = static_cast<int>(results::Code::timeout);
}  // namespace

NcclCommunicator::NcclCommunicator(const Api& functions, int device, int own, int members, NcclManner how)
    : api(functions), rank(own), size(members), manner(how), lane([cuda = &functions.cuda, device] {
          cuda->set_device(device);
      }) {
    api.cuda.stream(&stream, non_blocking);
}

void NcclCommunicator::open(const NcclId& id) {
    NcclHandle made = nullptr;
    NcclConfig config;
    int code = manner.blocks ? api.nccl.init(&made, size, id, rank)
                             : api.nccl.init_by_config(&made, size, id, rank, &config);
    if (code == nccl_in_progress) code = settle(made, manner.patience);
    if (code == timeout) {
        text = api.nccl.words(nccl_in_progress);
        api.nccl.abort(made);
        made = nullptr;
    } else if (code != 0) {
        const char* said = api.nccl.last_error(nullptr);
        text = said && *said ? said : api.nccl.words(code);
    }
    handle = made;
    trouble = code;
}

int NcclCommunicator::settle(NcclHandle of, std::chrono::nanoseconds patience) {
    const auto begun = std::chrono::steady_clock::now();
    for (;;) {
        int state = 0;
        if (const int code = api.nccl.async_error(of, &state); code != 0) return code;
        if (state != nccl_in_progress) return state;
        if (patience.count() > 0 && std::chrono::steady_clock::now() - begun > patience) return timeout;
        std::this_thread::sleep_for(line_look_again);
    }
}

}  // namespace deadrank::runners
