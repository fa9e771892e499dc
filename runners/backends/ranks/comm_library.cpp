// runners/backends/ranks/comm_library.cpp — The communication library as ranks use it, and the creation of a
// communicator by name.
#include "runners/backends/ranks/comm_library.h"

#include <charconv>
#include <fmt/format.h>

#include "runners/backends/ranks/rank_comm.h"
#include "sim/world/failure.h"

namespace deadrank::runners {

// ── What does not depend on the library: extents of buffers, and how joining fails.

using results::Op;

Extent extent_of(const RealCall& call, std::int64_t size) {
    switch (call.op) {
        case Op::all_gather:
            return {call.count, call.count * size};
        case Op::reduce_scatter:
            return {call.count * size, call.count};
        case Op::all_to_all:
            return {call.count * size, call.count * size};
        case Op::send:
            return {call.count, 0};
        case Op::recv:
            return {0, call.count};
        case Op::barrier:
            return {0, 0};
        default:
            return {call.count, call.count};
    }
}

bool has_root(Op op) { return op == Op::broadcast || op == Op::reduce || op == Op::send || op == Op::recv; }

void fail_to_join(RealRank& rank, const CommLibrary& library, results::CommId id, results::Code code,
                  const std::string& text) {
    rank.evidence.record(results::CommError{id, code, rank.evidence.text(text)});
    rank.evidence.record(results::CommInitLeave{id, code});
    throw sim::LibraryError(code, library.exception(code, text));
}

void wait_for_first(RealRank& rank, const Joining& joining, const std::function<bool()>& there) {
    const results::Time until = rank.evidence.clock().now() + joining.store_timeout;
    rank.gate.wait([&] { return there() || rank.evidence.clock().now() > until; });
    if (there()) return;
    rank.evidence.record(results::CommInitLeave{joining.id, results::Code::timeout});
    throw sim::LibraryError(
        results::Code::timeout,
        fmt::format(
            "torch.distributed.DistBackendError: [{}] is setting up a communicator and found nobody at "
            "its place 0: wait timeout after {}ms",
            joining.place, joining.store_timeout.count() / 1'000'000));
}

// ── Members are ranks as RANK names them; the meeting place knows which process is which.

using results::Code;

namespace {

std::int64_t number_in(const std::string& text) {
    std::int64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

}  // namespace

std::unique_ptr<sim::Comm> join_communicator(RealRank& rank, CommLibrary& library, const MeetingPlace& place,
                                             const Joiner& joiner, const sim::CommRequest& request) {
    sim::Call call{.kind = sim::CallKind::comm_init, .name = "comm_init"};
    call.comm = request.name;
    call.count = request.members.size();
    rank.gate.pass(call);
    if (call.skip) return std::make_unique<RealComm>(rank, library, nullptr, RealPlace{.name = request.name});

    const auto size = static_cast<results::Rank>(call.count);
    const results::Rank mine = request.members.place_of(request.rank);
    const results::Rank lead = request.members.empty() ? 0 : request.members[0];
    // A communicator of one has no peers: each process has its own, whatever rank it claims.
    const std::string alone = request.members.size() == 1 ? fmt::format(" of {}", joiner.process) : "";
    const MeetingPlace here =
        place.within(fmt::format("comm {} {} from {}{}", request.name, joiner.nth, lead, alone));
    if (!here.get("id") && here.claim("maker", ""))
        here.set("id", std::to_string(place.add("communicators", 1)));
    rank.gate.wait([&] { return here.get("id").has_value(); });
    const auto id = static_cast<results::CommId>(number_in(*here.get("id")));
    Trail& evidence = rank.evidence;
    evidence.record(results::CommInitEnter{id, size, mine, evidence.text(request.name),
                                           evidence.text(request.members.text())});
    if (call.answer != Code::ok)
        fail_to_join(rank, library, id, call.answer, "the communicator could not be made");
    if (call.never_completes) rank.gate.wait([] { return false; });
    auto wire = library.join(rank, {id, joiner.process, mine, size, joiner.store_timeout, here});
    evidence.record(results::CommInitLeave{id, Code::ok, evidence.text(library.name())});
    return std::make_unique<RealComm>(rank, library, std::move(wire),
                                      RealPlace{id, request.name, request.members.list(), mine, size});
}

}  // namespace deadrank::runners
