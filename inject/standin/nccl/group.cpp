// inject/standin/nccl/group.cpp — What happens at ncclGroupEnd.
#include "inject/standin/nccl/group.h"

#include <algorithm>
#include <map>
#include <thread>

#include "inject/standin/nccl/log.h"
#include "inject/standin/nccl/work.h"

namespace deadrank::standin {

Group& Group::of_this_thread() {
    static thread_local Group group;
    return group;
}

ncclResult_t Group::fail(ncclResult_t code) {
    if (open() && failed_ == ncclSuccess) failed_ = code;
    return code;
}

ncclResult_t Group::add(Planned planned) {
    planned_.push_back(std::move(planned));
    if (open()) return ncclSuccess;
    launch();
    return std::exchange(failed_, ncclSuccess);
}

void Group::defer(ncclComm_t comm, std::function<ncclResult_t()> job) {
    jobs_.push_back({comm, std::move(job)});
}

ncclResult_t Group::end() {
    if (depth_ == 0) {
        warn("ncclGroupEnd: not in a group call.");
        return ncclInvalidUsage;
    }
    if (--depth_ > 0) return ncclSuccess;
    if (failed_ != ncclSuccess) {
        planned_.clear();
        jobs_.clear();
        return std::exchange(failed_, ncclSuccess);
    }
    const ncclResult_t opened = run_jobs();
    if (opened == ncclSuccess || opened == ncclInProgress) launch();
    planned_.clear();
    return failed_ != ncclSuccess ? std::exchange(failed_, ncclSuccess) : opened;
}

ncclResult_t Group::run_jobs() {
    std::vector<Job> jobs = std::exchange(jobs_, {});
    const bool waits =
        std::all_of(jobs.begin(), jobs.end(), [](const Job& job) { return job.comm->blocking; });
    if (!waits) {
        for (Job& job : jobs) std::thread(std::move(job.run)).detach();
        return ncclInProgress;
    }
    std::vector<ncclResult_t> answers(jobs.size(), ncclSuccess);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < jobs.size(); ++i)
        threads.emplace_back([&, i] { answers[i] = jobs[i].run(); });
    for (std::thread& thread : threads) thread.join();
    const auto bad =
        std::find_if(answers.begin(), answers.end(), [](ncclResult_t code) { return code != ncclSuccess; });
    return bad == answers.end() ? ncclSuccess : *bad;
}

void Group::launch() {
    std::vector<Planned> all = std::exchange(planned_, {});
    while (!all.empty()) {
        const ncclComm_t comm = all.front().comm;
        const cudaStream_t stream = all.front().stream;
        const auto others = std::stable_partition(all.begin(), all.end(), [&](const Planned& one) {
            return one.comm == comm && one.stream == stream;
        });
        std::vector<Planned> together(all.begin(), others);
        all.erase(all.begin(), others);
        if (!put_into_stream(std::move(together))) {
            warn("there is no stream {}", static_cast<void*>(stream));
            failed_ = ncclUnhandledCudaError;
        }
    }
}

ncclResult_t run_or_defer(ncclComm_t comm, std::function<ncclResult_t()> job) {
    Group& group = Group::of_this_thread();
    if (group.open()) {
        group.defer(comm, std::move(job));
        return ncclSuccess;
    }
    if (comm->blocking) return job();
    std::thread(std::move(job)).detach();
    return ncclInProgress;
}

}  // namespace deadrank::standin
