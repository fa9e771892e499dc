// inject/shims/net/network.cpp — Pointers that NCCL holds are ours until it closes them.
#include "inject/shims/net/network.h"

#include <algorithm>
#include <cstring>

#include "inject/shims/core/process.h"

namespace deadrank::inject::shims {

namespace {

constexpr int nccl_success = 0, nccl_system_error = 2, nccl_internal_error = 3;

bool is_due(const Treatment& treatment) {
    return !treatment.stalled && NetClock::now() >= treatment.not_before;
}

}  // namespace

Network& Network::here() {
    static Network* const one = new Network;
    return *one;
}

Treatment Network::treated(const char* moment, std::uint64_t size, bool waits) {
    Treatment treatment;
    RankSession& rank = session_.rank();
    const Decision decision = rank.faults.at(moment);
    if (!decision.any) return treatment;
    const Alteration& how = decision.alteration;
    treatment.dropped = how.skip;
    treatment.stalled = how.never_completes;
    treatment.flip_bit = how.flip_bit;
    if (how.answer != results::Code::ok) treatment.failure = static_cast<int>(how.answer);
    if (treatment.failure > nccl_remote_error) treatment.failure = nccl_internal_error;
    auto start = NetClock::now();
    if (decision.bytes_per_second > 0) {
        const std::lock_guard lock(guard_);
        const double seconds = static_cast<double>(size) / static_cast<double>(decision.bytes_per_second);
        const auto takes =
            std::chrono::duration_cast<NetClock::duration>(std::chrono::duration<double>(seconds));
        start = line_free_ = std::max(start, line_free_) + takes;
    }
    treatment.not_before = start + how.delay;
    if (waits) {
        sleep_for(how.delay.count());
        if (treatment.stalled) sleep_forever();
    }
    return treatment;
}

int Network::listen(void* handle, void** listener) {
    const Treatment treatment = treated("net.listen", 0, true);
    if (treatment.failure) return treatment.failure;
    std::memset(handle, 0, net_handle_bytes);
    Handle mine{};
    auto made = Listener::open(io_, mine);
    std::memcpy(handle, &mine, sizeof mine);
    *listener = made.release();
    return *listener ? nccl_success : nccl_system_error;
}

int Network::connect(void* handle, void** connection) {
    *connection = nullptr;
    Handle other{};
    std::memcpy(&other, handle, sizeof other);
    if (other.magic != handle_magic) return nccl_internal_error;
    if (!other.calling) {
        auto* calling = new Calling(io_, other);
        calling->treatment = treated("net.connect", 0, false);
        other.calling = calling;
        std::memcpy(handle, &other, sizeof other);
    }
    auto* calling = static_cast<Calling*>(other.calling);
    calling->look();
    const bool failed = calling->treatment.failure || calling->failed();
    if (!failed && (!calling->done() || !is_due(calling->treatment))) return nccl_success;
    const int code = calling->treatment.failure ? calling->treatment.failure
                     : failed                   ? nccl_remote_error
                                                : nccl_success;
    if (!failed) *connection = calling->take().release();
    delete calling;
    other.calling = nullptr;
    std::memcpy(handle, &other, sizeof other);
    return code;
}

int Network::accept(void* listener, void** connection) {
    *connection = nullptr;
    auto& mine = *static_cast<Listener*>(listener);
    if (!mine.asked) mine.treatment = treated("net.accept", 0, false);
    mine.asked = true;
    if (mine.treatment.failure) {
        mine.asked = false;
        return mine.treatment.failure;
    }
    if (!is_due(mine.treatment)) return nccl_success;
    *connection = mine.accept().release();
    if (*connection) mine.asked = false;
    return nccl_success;
}

int Network::register_memory(void* data, void** made) {
    const Treatment treatment = treated("net.reg_mr", 0, true);
    *made = data;  // host memory needs no registration; NCCL wants to see that it has one
    return treatment.failure;
}

int Network::send(void* connection, void* data, std::uint64_t size, void** request) {
    const Treatment treatment = treated("net.isend", size, false);
    *request = nullptr;
    if (treatment.failure) return treatment.failure;
    auto& mine = *static_cast<Connection*>(connection);
    *request = mine.start(true, data, size, treatment).release();
    (void)mine.progress();  // trouble is told by test
    return nccl_success;
}

int Network::receive(void* connection, int count, void** data, std::uint64_t size, void** request) {
    *request = nullptr;
    if (count != 1) return nccl_internal_error;  // we said that we take one at a time
    const Treatment treatment = treated("net.irecv", size, false);
    if (treatment.failure) return treatment.failure;
    *request = static_cast<Connection*>(connection)->start(false, data[0], size, treatment).release();
    return nccl_success;
}

int Network::test(void* request, int* done, int* sizes) {
    auto* mine = static_cast<Request*>(request);
    *done = 0;
    const Treatment treatment = treated("net.test", 0, true);
    if (treatment.failure) return treatment.failure;
    const int code = mine->done ? nccl_success : mine->connection->progress();
    if (code != nccl_success) return code;
    if (!mine->done) return nccl_success;
    *done = 1;
    if (sizes) sizes[0] = static_cast<int>(mine->size);
    delete mine;
    return nccl_success;
}

void Network::properties(NetProperties11& into) const {
    static char name[] = "deadrank";
    constexpr std::size_t two_gibibytes = std::size_t{1} << 31;
    into = {};
    NetProperties10& common = into.common;
    common.name = name;
    common.pointers = pointer_host;
    common.speed = 10000;
    common.port = 1;
    common.most_comms = 65536;
    common.most_receives = 1;
    common.virtual_device.count = 1;
    common.most_message_bytes = common.most_collective_bytes = two_gibibytes;
    into.most_requests_in_one = 1;
}

}  // namespace deadrank::inject::shims
