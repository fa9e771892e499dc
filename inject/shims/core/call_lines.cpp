// inject/shims/core/call_lines.cpp — The names of the fields are those of results/record.
#include "inject/shims/core/call_lines.h"

namespace deadrank::inject::shims {

bool is_message(results::Op op) { return op == results::Op::send || op == results::Op::recv; }

Line enter_line(const SeenCall& call) {
    const bool message = is_message(call.op);
    Line line(message ? "p2p.enter" : "collective.enter", call.rank);
    line.add("comm", call.comm).add("seq", call.number).add("count", call.count);
    line.add(message ? "peer" : "root", call.root).add("op", results::name_of(call.op));
    line.add("dtype", results::name_of(call.dtype));
    if (call.reduce != results::ReduceOp::none) line.add("reduce", results::name_of(call.reduce));
    return line;
}

Line leave_line(const SeenCall& call, results::Code result) {
    const bool message = is_message(call.op);
    Line line(message ? "p2p.leave" : "collective.leave", call.rank);
    line.add("comm", call.comm).add("seq", call.number);
    if (message) line.add("peer", call.root);
    return line.add("op", results::name_of(call.op)).add("result", results::name_of(result));
}

Bit place_of(std::int64_t bit, std::size_t count, std::size_t width) {
    const auto index = static_cast<std::size_t>(bit);
    const std::size_t place = index / 64 % count * width * 8 + index % 64 * width / 8;
    return {place / 8, static_cast<unsigned char>(1U << (place % 8))};
}

}  // namespace deadrank::inject::shims
