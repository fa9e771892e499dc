// inject/shims/core/call_lines.cpp — Evidence as lines of JSON, written so that a killed process leaves whole
// lines.
#include "inject/shims/core/call_lines.h"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace deadrank::inject::shims {

// ── Written by hand: this runs inside a training step of the user's.

namespace {

void append_quoted(std::string& out, std::string_view text) {
    constexpr char digits[] = "0123456789abcdef";
    out += '"';
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (byte < 0x20 || byte >= 0x7f) {  // foreign bytes become a mark: the line stays valid JSON
            if (byte >= 0x7f) {
                out += '?';
            } else {
                out += "\\u00";
                out += digits[byte >> 4];
                out += digits[byte & 15];
            }
        } else {
            out += c;
        }
    }
    out += '"';
}

}  // namespace

std::int64_t now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

Line::Line(std::string_view kind, results::Rank rank) {
    text_.reserve(192);
    text_ += "{\"t\": ";
    text_ += std::to_string(now());
    add("rank", static_cast<std::int64_t>(rank));
    add("kind", kind);
}

Line& Line::add(std::string_view name, std::int64_t value) {
    text_ += ", ";
    append_quoted(text_, name);
    text_ += ": ";
    text_ += std::to_string(value);
    return *this;
}

Line& Line::add(std::string_view name, std::string_view text) {
    text_ += ", ";
    append_quoted(text_, name);
    text_ += ": ";
    append_quoted(text_, text);
    return *this;
}

std::string Line::text() const { return text_ + "}\n"; }

// ── Trouble with the file is reported once on stderr and never stops the rank.

LineFile::~LineFile() {
    if (file_ >= 0) ::close(file_);
}

bool LineFile::ready() {
    if (file_ >= 0) return true;
    if (file_ == -2 || path_.empty()) return false;
    std::error_code ignored;
    std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), ignored);
    file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (file_ >= 0) return true;
    std::fprintf(stderr, "deadrank: cannot write %s: %s\n", path_.c_str(), std::strerror(errno));
    file_ = -2;
    return false;
}

bool LineFile::empty() {
    const std::lock_guard lock(guard_);
    struct stat seen {};
    return !ready() || ::fstat(file_, &seen) != 0 || seen.st_size == 0;
}

void LineFile::write(const Line& line) {
    if (!open()) return;
    const std::lock_guard lock(guard_);
    if (!ready()) return;
    const std::string text = (torn_ ? "\n" : "") + line.text();
    const ssize_t written = ::write(file_, text.data(), text.size());
    torn_ = written > 0 && static_cast<std::size_t>(written) < text.size();
}

// ── The names of the fields are those of results/record.

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
