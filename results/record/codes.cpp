// results/record/codes.cpp — Numbers with names in evidence: exit codes, signals, kinds of calls and their
// states.
#include "results/record/codes.h"

#include <array>
#include <utility>

namespace deadrank::results {

// ── Names of the enumerations, one table each, read in both directions.

namespace {

template <class Enum, std::size_t n>
using Names = std::array<std::pair<Enum, std::string_view>, n>;

constexpr Names<Op, 12> ops = {{{Op::none, "none"},
                                {Op::all_reduce, "all_reduce"},
                                {Op::broadcast, "broadcast"},
                                {Op::reduce, "reduce"},
                                {Op::all_gather, "all_gather"},
                                {Op::reduce_scatter, "reduce_scatter"},
                                {Op::all_to_all, "all_to_all"},
                                {Op::gather, "gather"},
                                {Op::scatter, "scatter"},
                                {Op::barrier, "barrier"},
                                {Op::send, "send"},
                                {Op::recv, "recv"}}};

constexpr Names<Dtype, 14> dtypes = {{{Dtype::none, "none"},
                                      {Dtype::i8, "i8"},
                                      {Dtype::i32, "i32"},
                                      {Dtype::i64, "i64"},
                                      {Dtype::f16, "f16"},
                                      {Dtype::bf16, "bf16"},
                                      {Dtype::f32, "f32"},
                                      {Dtype::f64, "f64"},
                                      {Dtype::u8, "u8"},
                                      {Dtype::i16, "i16"},
                                      {Dtype::boolean, "bool"},
                                      {Dtype::c64, "c64"},
                                      {Dtype::c128, "c128"},
                                      {Dtype::f8, "f8"}}};

constexpr Names<ReduceOp, 9> reduce_ops = {{{ReduceOp::none, "none"},
                                            {ReduceOp::sum, "sum"},
                                            {ReduceOp::max, "max"},
                                            {ReduceOp::min, "min"},
                                            {ReduceOp::prod, "prod"},
                                            {ReduceOp::avg, "avg"},
                                            {ReduceOp::band, "band"},
                                            {ReduceOp::bor, "bor"},
                                            {ReduceOp::bxor, "bxor"}}};

constexpr Names<Phase, 10> phases = {{{Phase::none, "none"},
                                      {Phase::setup, "setup"},
                                      {Phase::data, "data"},
                                      {Phase::forward, "forward"},
                                      {Phase::backward, "backward"},
                                      {Phase::reduce, "reduce"},
                                      {Phase::optimizer, "optimizer"},
                                      {Phase::checkpoint, "checkpoint"},
                                      {Phase::serve, "serve"},
                                      {Phase::evaluate, "evaluate"}}};

constexpr Names<Code, 14> codes = {{{Code::ok, "ok"},
                                    {Code::unhandled_device_error, "unhandled_device_error"},
                                    {Code::system_error, "system_error"},
                                    {Code::internal_error, "internal_error"},
                                    {Code::invalid_argument, "invalid_argument"},
                                    {Code::invalid_usage, "invalid_usage"},
                                    {Code::remote_error, "remote_error"},
                                    {Code::in_progress, "in_progress"},
                                    {Code::timeout, "timeout"},
                                    {Code::aborted, "aborted"},
                                    {Code::killed, "killed"},
                                    {Code::not_found, "not_found"},
                                    {Code::corrupt, "corrupt"},
                                    {Code::no_space, "no_space"}}};

template <class Table, class Enum>
std::string_view name_in(const Table& table, Enum value) {
    for (const auto& [known, name] : table) {
        if (known == value) return name;
    }
    return "unknown";
}

template <class Table, class Enum>
Enum value_in(const Table& table, std::string_view name, Enum otherwise) {
    for (const auto& [known, known_name] : table) {
        if (known_name == name) return known;
    }
    return otherwise;
}

}  // namespace

std::string_view name_of(Op op) { return name_in(ops, op); }
std::string_view name_of(Dtype dtype) { return name_in(dtypes, dtype); }
std::string_view name_of(ReduceOp reduce) { return name_in(reduce_ops, reduce); }
std::string_view name_of(Phase phase) { return name_in(phases, phase); }
std::string_view name_of(Code code) { return name_in(codes, code); }

Op op_named(std::string_view name) { return value_in(ops, name, Op::none); }
Dtype dtype_named(std::string_view name) { return value_in(dtypes, name, Dtype::none); }
ReduceOp reduce_op_named(std::string_view name) { return value_in(reduce_ops, name, ReduceOp::none); }
Phase phase_named(std::string_view name) { return value_in(phases, name, Phase::none); }
Code code_named(std::string_view name) { return value_in(codes, name, Code::internal_error); }

std::int64_t size_of(Dtype dtype) {
    switch (dtype) {
        case Dtype::none:
            return 0;
        case Dtype::i8:
        case Dtype::u8:
        case Dtype::boolean:
        case Dtype::f8:
            return 1;
        case Dtype::f16:
        case Dtype::bf16:
        case Dtype::i16:
            return 2;
        case Dtype::i32:
        case Dtype::f32:
            return 4;
        case Dtype::i64:
        case Dtype::f64:
        case Dtype::c64:
            return 8;
        case Dtype::c128:
            return 16;
    }
    return 0;
}

namespace {

// The signals that end training jobs; numbers are Linux's.
constexpr std::array<std::pair<int, std::string_view>, 9> names = {{
    {1, "SIGHUP"},
    {2, "SIGINT"},
    {4, "SIGILL"},
    {6, "SIGABRT"},
    {7, "SIGBUS"},
    {8, "SIGFPE"},
    {9, "SIGKILL"},
    {11, "SIGSEGV"},
    {15, "SIGTERM"},
}};

}  // namespace

std::string_view signal_name(int number) {
    for (const auto& [known, name] : names) {
        if (known == number) return name;
    }
    return "<N/A>";
}

}  // namespace deadrank::results
