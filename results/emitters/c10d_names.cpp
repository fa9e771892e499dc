// results/emitters/c10d_names.cpp — Tables read in both directions; the first spelling of an operation is the
// one written.
#include "results/emitters/c10d_names.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fmt/format.h>

#include "results/record/event_names.h"

namespace deadrank::results::emitters {

namespace {

constexpr std::array<std::pair<Op, std::string_view>, 22> profiled = {{
    {Op::all_reduce, "all_reduce"},
    {Op::all_reduce, "allreduce_coalesced"},
    {Op::broadcast, "broadcast"},
    {Op::broadcast, "_broadcast_oop"},
    {Op::reduce, "reduce"},
    {Op::reduce, "_reduce_oop"},
    {Op::all_gather, "_all_gather_base"},
    {Op::all_gather, "all_gather"},
    {Op::all_gather, "all_gather_single"},
    {Op::all_gather, "all_gather_into_tensor_coalesced"},
    {Op::reduce_scatter, "_reduce_scatter_base"},
    {Op::reduce_scatter, "reduce_scatter"},
    {Op::reduce_scatter, "reduce_scatter_single"},
    {Op::reduce_scatter, "reduce_scatter_tensor_coalesced"},
    {Op::all_to_all, "all_to_all"},
    {Op::all_to_all, "all_to_all_single"},
    {Op::gather, "gather"},
    {Op::scatter, "scatter"},
    {Op::barrier, "all_reduce_barrier"},
    {Op::barrier, "barrier"},
    {Op::send, "send"},
    {Op::recv, "recv"},
}};


constexpr std::array<std::pair<Dtype, std::string_view>, 13> scalars = {{
    {Dtype::i8, "Char"},
    {Dtype::i32, "Int"},
    {Dtype::i64, "Long"},
    {Dtype::f16, "Half"},
    {Dtype::bf16, "BFloat16"},
    {Dtype::f32, "Float"},
    {Dtype::f64, "Double"},
    {Dtype::u8, "Byte"},
    {Dtype::i16, "Short"},
    {Dtype::boolean, "Bool"},
    {Dtype::c64, "ComplexFloat"},
    {Dtype::c128, "ComplexDouble"},
    {Dtype::f8, "Float8_e4m3fn"},
}};

template <class Table, class Value>
std::string_view name_in(const Table& table, Value value, std::string_view otherwise) {
    for (const auto& [known, name] : table) {
        if (known == value) return name;
    }
    return otherwise;
}

template <class Table, class Value>
Value read(const Table& table, std::string_view name, Value otherwise) {
    for (const auto& [value, known] : table) {
        if (known == name) return value;
    }
    return otherwise;
}

}  // namespace

std::int64_t wall_clock(Time at) { return epoch_seconds * 1'000'000'000 + at.count(); }

std::string group_name(CommId comm) { return std::to_string(comm - 1); }

std::string group_description(std::string_view name) {
    return name == GroupName::world ? "default_pg" : std::string(name);
}

std::pair<std::int64_t, std::int64_t> element_counts(Op op, std::int64_t count, std::int32_t size) {
    switch (op) {
        case Op::all_gather:
            return {count, count * size};
        case Op::reduce_scatter:
            return {count * size, count};
        case Op::all_to_all:
            return {count * size, count * size};
        default:
            return {count, count};
    }
}

std::int64_t count_of(Op op, std::int64_t in, std::int64_t out, std::int32_t size) {
    if (op == Op::reduce_scatter) return out;
    return op == Op::all_to_all ? in / std::max(size, 1) : in;
}

std::string_view scalar_type(Dtype dtype) { return name_in(scalars, dtype, "Undefined"); }
Dtype dtype_of_scalar_type(std::string_view name) { return read(scalars, name, Dtype::none); }

std::string profiling_name(Op op, Rank place, Rank peer) {
    const std::string_view name = name_in(profiled, op, "unknown");
    if (op == Op::send) return fmt::format("nccl:send {}->{}", place, peer);
    if (op == Op::recv) return fmt::format("nccl:recv {}<-{}", place, peer);
    return fmt::format("nccl:{}", name);
}

ProfiledOp op_of_profiling_name(std::string_view name) {
    name.remove_prefix(std::min(name.find(':') + 1, name.size()));
    const std::size_t space = std::min(name.find(' '), name.size());
    ProfiledOp found{read(profiled, name.substr(0, space), Op::none), no_rank};
    const std::size_t arrow = name.find_first_of("<>", space);
    if (arrow != std::string_view::npos) {
        std::string_view peer = name.substr(arrow + 1);
        if (peer.starts_with('-')) peer.remove_prefix(1);
        found.peer = static_cast<Rank>(std::strtol(std::string(peer).c_str(), nullptr, 10));
    }
    return found;
}

std::string_view value_in(std::string_view lines, std::string_view name) {
    for (std::size_t at = 0; at < lines.size();) {
        const std::size_t end = std::min(lines.find('\n', at), lines.size());
        const std::string_view line = lines.substr(at, end - at);
        if (line.starts_with(name) && line.substr(name.size()).starts_with('='))
            return line.substr(name.size() + 1);
        at = end + 1;
    }
    return {};
}

}  // namespace deadrank::results::emitters
