// results/record/codes.h — Numbers with names in evidence: exit codes, signals, kinds of calls and their
// states.
#pragma once

#include <cstdint>
#include <string_view>

namespace deadrank::results {

// ── The enumerations used in events, and their names as frameworks write them.

// A piece of text, kept once in the evidence's table. 0 is the empty text.
enum class TextId : std::uint32_t { none = 0 };

// A communicator; equal on all of its members.
using CommId = std::uint32_t;

enum class Op : std::uint8_t {
    none,
    all_reduce,
    broadcast,
    reduce,
    all_gather,
    reduce_scatter,
    all_to_all,
    gather,
    scatter,
    barrier,
    send,
    recv,
};
// Evidence keeps the numbers: new ones are added at the end.
enum class Dtype : std::uint8_t { none, i8, i32, i64, f16, bf16, f32, f64, u8, i16, boolean, c64, c128, f8 };
enum class ReduceOp : std::uint8_t { none, sum, max, min, prod, avg, band, bor, bxor };
enum class Phase : std::uint8_t {
    none,
    setup,
    data,
    forward,
    backward,
    reduce,
    optimizer,
    checkpoint,
    serve,
    evaluate
};

// Result codes of a library call: 0..7 as ncclResult_t numbers them, then what a framework adds.
enum class Code : std::int8_t {
    ok = 0,
    unhandled_device_error = 1,
    system_error = 2,
    internal_error = 3,
    invalid_argument = 4,
    invalid_usage = 5,
    remote_error = 6,
    in_progress = 7,
    timeout = 8,
    aborted = 9,
    killed = 10,
    not_found = 11,
    corrupt = 12,
    no_space = 13,
};

std::string_view name_of(Op);
std::string_view name_of(Dtype);
std::string_view name_of(ReduceOp);
std::string_view name_of(Phase);
std::string_view name_of(Code);

// The enumeration's `none` for an unknown name; code_named gives internal_error.
Op op_named(std::string_view);
Dtype dtype_named(std::string_view);
ReduceOp reduce_op_named(std::string_view);
Phase phase_named(std::string_view);
Code code_named(std::string_view);

// Bytes of one element; 0 for none.
std::int64_t size_of(Dtype);

// ── POSIX signals: Linux numbers on any machine, and names as launchers print them and detectors repeat
// them.

inline constexpr int sigabrt = 6, sigkill = 9, sigterm = 15, sigcont = 18, sigstop = 19;

std::string_view signal_name(int number);  // "SIGKILL"; "<N/A>" where Python's tables have none

}  // namespace deadrank::results
