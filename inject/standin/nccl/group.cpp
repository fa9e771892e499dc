// inject/standin/nccl/group.cpp — Calls between ncclGroupStart and ncclGroupEnd, and the work that they
// become.
#include "inject/standin/nccl/group.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <thread>

#include "inject/standin/device/capture.h"
#include "inject/standin/device/standin_memory.h"
#include "inject/standin/exchange/arithmetic.h"
#include "inject/standin/nccl/call_evidence.h"
#include "inject/standin/nccl/standin_job.h"

namespace deadrank::inject::standin {

// ── What happens at ncclGroupEnd.

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

using results::Op;

namespace {

// A call that names more elements than its buffer holds reads zeros and writes no further: a resized call
// must not end the program for another reason.
std::size_t within(const void* at, std::size_t size) {
    const auto block = Devices::of_this_process().memory.find(at);
    if (!block) return size;
    return std::min(size,
                    static_cast<std::size_t>(block->begin + block->size - static_cast<const char*>(at)));
}

// One bit of one element. Plans count 64 bits each; a narrower one takes the bit at the same height.
void flip(char* bytes, std::size_t size, Element element, std::int64_t bit) {
    const std::size_t width = size_of(element), count = size / width;
    if (count == 0) return;
    const auto at = static_cast<std::size_t>(bit);
    const std::size_t place = at / 64 % count * width * 8 + at % 64 * width / 8;
    bytes[place / 8] = static_cast<char>(bytes[place / 8] ^ 1 << place % 8);
}

std::string gathered(const Planned& planned) {
    const std::size_t size = bytes_sent(planned.call, planned.comm->rank, planned.comm->size);
    std::string bytes(size, '\0');
    if (size > 0 && planned.send) std::memcpy(bytes.data(), planned.send, within(planned.send, size));
    if (planned.flip_bit >= 0 && !planned.flip_received) {
        flip(bytes.data(), size, planned.call.element, planned.flip_bit);
    }
    return bytes;
}

std::uint64_t submit(Planned& planned) {
    const ncclComm_t comm = planned.comm;
    const std::lock_guard lock(comm->reading);
    if (comm->member.aborted()) return comm->member.submit(planned.call, {}, {});
    if (planned.scale_at) std::memcpy(&planned.call.scale, planned.scale_at, size_of(planned.call.element));
    const std::size_t size = bytes_received(planned.call, comm->rank, comm->size);
    const std::span<char> into(static_cast<char*>(planned.receive),
                               size > 0 && planned.receive ? within(planned.receive, size) : 0);
    return comm->member.submit(planned.call, gathered(planned), into);
}

void settle(const Planned& planned, bool done) {
    const ncclComm& comm = *planned.comm;
    if (done && planned.flip_bit >= 0 && planned.flip_received) {
        const std::size_t size = bytes_received(planned.call, comm.rank, comm.size);
        flip(static_cast<char*>(planned.receive), within(planned.receive, size), planned.call.element,
             planned.flip_bit);
    }
    Watch::of_this_process().leave(comm, planned.call, done ? ncclSuccess : ncclInternalError);
}

void run(std::vector<Planned>& calls) {
    std::vector<std::uint64_t> numbers;
    for (Planned& planned : calls) {
        numbers.push_back(submit(planned));
        if (planned.later == ncclSuccess) continue;
        warn("{} of rank {} failed in its stream: {}", results::name_of(planned.call.op), planned.comm->rank,
             ncclGetErrorString(planned.later));
        planned.comm->trouble = planned.later;
        Watch::of_this_process().trouble(*planned.comm, planned.later, last_warning());
    }
    for (std::size_t i = 0; i < calls.size(); ++i) settle(calls[i], calls[i].comm->member.await(numbers[i]));
    calls.front().comm->outstanding -= 1;
}

}  // namespace

std::size_t bytes_sent(const Call& call, int rank, int size) {
    const std::size_t one = call.count * size_of(call.element);
    switch (call.op) {
        case Op::reduce_scatter:
        case Op::all_to_all:
            return one * static_cast<std::size_t>(size);
        case Op::scatter:
            return rank == call.peer ? one * static_cast<std::size_t>(size) : 0;
        case Op::broadcast:
            return rank == call.peer ? one : 0;
        case Op::recv:
            return 0;
        default:
            return one;
    }
}

std::size_t bytes_received(const Call& call, int rank, int size) {
    const std::size_t one = call.count * size_of(call.element);
    switch (call.op) {
        case Op::all_gather:
        case Op::all_to_all:
        case Op::none:
            return one * static_cast<std::size_t>(size);
        case Op::gather:
            return rank == call.peer ? one * static_cast<std::size_t>(size) : 0;
        case Op::reduce:
            return rank == call.peer ? one : 0;
        case Op::send:
            return 0;
        default:
            return one;
    }
}

namespace {

// The default stream is that of the communicator's device. A group may hold calls of several devices, and
// when it ends the current one is any of them.
Stream* stream_of(const Planned& call) {
    Devices& devices = Devices::of_this_process();
    const int before = devices.current();
    devices.choose(call.comm->device);
    Stream* stream = devices.stream(call.stream);
    devices.choose(before);
    return stream;
}

void enqueue(std::vector<Planned> calls, Stream& stream) {
    ncclComm& comm = *calls.front().comm;
    for (Planned& planned : calls) {
        Call& call = planned.call;
        const bool sends = call.op == Op::send;
        call.sequence =
            sends || call.op == Op::recv ? ++comm.messages[{sends, call.peer}] : ++comm.collectives;
        Watch::of_this_process().enter(comm, call);
    }
    comm.outstanding += 1;
    Devices::of_this_process().push(stream, [calls = std::move(calls)]() mutable { run(calls); });
}

}  // namespace

bool put_into_stream(std::vector<Planned> calls) {
    Stream* stream = stream_of(calls.front());
    if (!stream) return false;
    // A captured call gets its place in the sequence by each launch of its graph.
    Captures& captures = Captures::of_this_process();
    if (captures.any() && captures.add(*stream, [calls](Stream& into) { enqueue(calls, into); })) return true;
    enqueue(std::move(calls), *stream);
    return true;
}

}  // namespace deadrank::inject::standin
