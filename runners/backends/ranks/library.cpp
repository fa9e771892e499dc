// runners/backends/ranks/library.cpp — What does not depend on the library: extents of buffers, and how
// joining fails.
#include "runners/backends/ranks/library.h"

#include <fmt/format.h>

#include "sim/world/failure.h"

namespace deadrank::runners {

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

void fail_to_join(RealRank& rank, const Library& library, results::CommId id, results::Code code,
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

}  // namespace deadrank::runners
