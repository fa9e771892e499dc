// results/importers/text_source.h — The lines of a file or of standard input, in constant memory: gzip, xz,
// zstd and bzip2 are unpacked on the way, UTF-16 becomes UTF-8, NULs are dropped, and a carriage return ends
// a line as a line feed does, since progress bars write over themselves.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <streambuf>
#include <string>
#include <string_view>

#include "scenarios/model/error.h"

namespace deadrank::results::importers {

class TextSource {
public:
    // "-" is standard input. Errors: io, when it cannot be opened, or is a device such as /dev/zero. A pipe
    // that nobody writes into ends after three seconds, a packed file where it has become a thousand times
    // as long and more than a gigabyte, and everything at the deadline; trouble() says so.
    using Clock = std::chrono::steady_clock;
    static scenarios::Result<std::unique_ptr<TextSource>> open(
        const std::filesystem::path& file, Clock::time_point deadline = Clock::time_point::max());
    ~TextSource();
    TextSource(const TextSource&) = delete;
    TextSource& operator=(const TextSource&) = delete;

    // The first bytes, unpacked but not decoded; at most 64 KiB.
    std::string_view head() const { return head_; }
    bool binary() const;  // neither text nor UTF-16
    // Everything that is left, undecoded; empty when it is more than `most` bytes.
    std::string all(std::size_t most);

    // The next line without its end. A line longer than 64 KiB comes in pieces.
    bool next(std::string& line);
    std::int64_t bytes() const { return bytes_; }            // unpacked so far
    const std::string& trouble() const { return trouble_; }  // why it ended early

private:
    TextSource() = default;
    enum class Coding { bytes, utf16_little, utf16_big };

    bool fill();
    void decode(std::string_view raw);
    void close();
    // Unpacked bytes; 0 at the end, at a damage or at the deadline, below 0 if the file cannot be read on.
    std::int64_t read(char* into, std::size_t count);
    std::int64_t unpack(char* into, std::size_t count);
    std::string read_head();

    int fd_ = -1;
    Clock::time_point deadline_ = Clock::time_point::max();
    std::int64_t packed_size_ = -1;  // of a regular file; -1 of a pipe
    std::int64_t unpacked_size_ = 0;
    std::unique_ptr<std::streambuf> unpacked_;  // empty if the file is not packed
    std::string packing_, head_, carried_, text_, trouble_;
    std::size_t at_ = 0;
    std::int64_t bytes_ = 0;
    Coding coding_ = Coding::bytes;
    bool head_given_ = false, ended_ = false, after_return_ = false;
};

}  // namespace deadrank::results::importers
