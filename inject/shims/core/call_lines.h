// inject/shims/core/call_lines.h — Evidence as lines of JSON, written so that a killed process leaves whole
// lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "results/record/codes.h"
#include "results/record/time.h"

namespace deadrank::inject::shims {

// ── One line of evidence or truth, as runners/backends/process/event_reader.cpp reads it: {"t": nanoseconds
// since 1970, "rank": 1, "kind": "collective.enter", …}

std::int64_t now();  // nanoseconds since 1970

class Line {
public:
    Line(std::string_view kind, results::Rank rank);

    Line& add(std::string_view name, std::int64_t value);
    Line& add(std::string_view name, std::string_view text);

    // Closed and with its newline.
    std::string text() const;

private:
    std::string text_;
};

// A file of lines that several threads and processes append to. Each line is one system call, so a killed
// rank loses none and two writers never mix.
class LineFile {
public:
    LineFile() = default;
    explicit LineFile(std::string path) : path_(std::move(path)) {}
    LineFile(const LineFile&) = delete;
    LineFile& operator=(const LineFile&) = delete;
    ~LineFile();

    // Without a path, nothing is written. The file and its directory are made by the first line.
    bool open() const { return !path_.empty(); }
    void write(const Line& line);
    bool empty();  // no line has been written yet

private:
    bool ready();

    const std::string path_;
    std::mutex guard_;
    int file_ = -1;
    bool torn_ = false;  // the disk took only the beginning of the last line
};

// What is recorded of one collective or message, and where a plan's bit lies in its buffer: the same for
// every library.
struct SeenCall {
    results::Rank rank = results::no_rank;
    results::CommId comm = 0;
    std::int64_t number = 0;  // of its kind, on this communicator
    results::Op op = results::Op::none;
    int root = -1;  // or the peer of a message
    std::int64_t count = 0;
    results::Dtype dtype = results::Dtype::none;
    results::ReduceOp reduce = results::ReduceOp::none;  // `none` where nothing is reduced
};

bool is_message(results::Op op);

Line enter_line(const SeenCall& call);
Line leave_line(const SeenCall& call, results::Code result);

// Plans count 64 bits an element; a narrower one has the bit at the same height.
struct Bit {
    std::size_t byte;
    unsigned char mask;
};
Bit place_of(std::int64_t bit, std::size_t count, std::size_t width);

}  // namespace deadrank::inject::shims
