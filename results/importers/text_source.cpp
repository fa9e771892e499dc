// results/importers/text_source.cpp — Boost.Iostreams unpacks. Of a file that is damaged or cut, what came
// before is kept, but for the last few kilobytes.
#include "results/importers/text_source.h"

#include <algorithm>
#include <boost/iostreams/concepts.hpp>
#include <boost/iostreams/filter/bzip2.hpp>
#include <boost/iostreams/filter/gzip.hpp>
#include <boost/iostreams/filter/lzma.hpp>
#include <boost/iostreams/filter/symmetric.hpp>
#include <boost/iostreams/filtering_streambuf.hpp>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <ios>
#include <new>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>
#include <zstd_errors.h>

namespace deadrank::results::importers {

namespace {

namespace io = boost::iostreams;
using scenarios::ErrorCode;

constexpr std::size_t block = 1 << 16, longest_line = 1 << 16;
constexpr int pipe_patience = 3'000;  // milliseconds
// Logs become some ten to hundred times shorter; half a megabyte that holds six gigabytes was made for that.
constexpr std::int64_t unpacked_factor_most = 1'000, unpacked_free = std::int64_t{1} << 30;

using Deadline = TextSource::Clock::time_point;

bool is_over(Deadline deadline) {
    return deadline != Deadline::max() && TextSource::Clock::now() >= deadline;
}

// Waits for bytes until the deadline; a file always has some.
bool has_bytes(int fd, Deadline deadline) {
    if (deadline == Deadline::max()) return true;
    constexpr std::int64_t longest_poll = 1 << 30;  // milliseconds
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - TextSource::Clock::now()).count();
    pollfd source{fd, POLLIN, 0};
    return ::poll(&source, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, longest_poll))) != 0;
}

ssize_t read_some(int fd, char* into, std::size_t count, Deadline deadline) {
    for (;;) {
        if (!has_bytes(fd, deadline)) {
            errno = ETIMEDOUT;
            return -1;
        }
        const ssize_t got = ::read(fd, into, count);
        if (got >= 0 || (errno != EINTR && errno != EAGAIN)) return got;
        pollfd pipe{fd, POLLIN, 0};
        if (errno == EAGAIN && ::poll(&pipe, 1, pipe_patience) == 0) {
            errno = ETIMEDOUT;
            return -1;
        }
    }
}

// The packed bytes, of which the first were read to find out how they are packed.
class Packed {
public:
    using char_type = char;
    using category = io::source_tag;

    Packed(std::string head, int fd, Deadline deadline)
        : head_(std::move(head)), fd_(fd), deadline_(deadline) {}

    std::streamsize read(char* into, std::streamsize count) {
        if (at_ < head_.size()) {
            const std::size_t part = head_.copy(into, static_cast<std::size_t>(count), at_);
            at_ += part;
            return static_cast<std::streamsize>(part);
        }
        const ssize_t got = read_some(fd_, into, static_cast<std::size_t>(count), deadline_);
        if (got < 0) throw std::ios_base::failure(std::strerror(errno));
        return got == 0 ? -1 : got;
    }

private:
    std::string head_;
    std::size_t at_ = 0;
    int fd_;
    Deadline deadline_;
};

// Boost's own filter for zstd takes the end of a cut file for the end of the data.
class ZstdFrames {
public:
    using char_type = char;

    bool filter(const char*& from, const char* from_end, char*& into, char* into_end, bool at_end) {
        ZSTD_inBuffer in{from, static_cast<std::size_t>(from_end - from), 0};
        ZSTD_outBuffer out{into, static_cast<std::size_t>(into_end - into), 0};
        while (in.pos < in.size && out.pos < out.size) left_ = decompress(out, in);
        if (at_end && out.pos < out.size && left_ != 0) left_ = decompress(out, in);  // what it still holds
        from += in.pos;
        into += out.pos;
        if (at_end && out.pos == 0 && left_ != 0) throw std::ios_base::failure("the last frame is cut");
        return !at_end || left_ != 0 || from != from_end;
    }
    void close() {}

private:
    struct Free {
        void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
    };

    std::size_t decompress(ZSTD_outBuffer& out, ZSTD_inBuffer& in) {
        if (!stream_) throw std::bad_alloc();
        const std::size_t left = ZSTD_decompressStream(stream_.get(), &out, &in);
        if (ZSTD_getErrorCode(left) == ZSTD_error_memory_allocation) throw std::bad_alloc();
        if (ZSTD_isError(left)) throw std::ios_base::failure(ZSTD_getErrorName(left));
        return left;
    }

    std::unique_ptr<ZSTD_DStream, Free> stream_{ZSTD_createDStream()};
    std::size_t left_ = 0;  // 0 = at the end of a frame
};

struct ZstdUnpacker : io::symmetric_filter<ZstdFrames> {
    ZstdUnpacker() : symmetric_filter(io::default_device_buffer_size) {}
};

struct Packing {
    std::string_view magic;
    const char* name;
    void (*unpack)(io::filtering_istreambuf& stream);
};
constexpr Packing packings[] = {
    {"\x1f\x8b", "gzip", [](auto& stream) { stream.push(io::gzip_decompressor()); }},
    {std::string_view("\xfd"
                      "7zXZ",
                      5),
     "xz", [](auto& stream) { stream.push(io::lzma_decompressor()); }},
    {"\x28\xb5\x2f\xfd", "zstd", [](auto& stream) { stream.push(ZstdUnpacker()); }},
    {"BZh", "bzip2", [](auto& stream) { stream.push(io::bzip2_decompressor()); }}};

void append_utf8(std::string& text, std::uint32_t code) {
    if (code < 0x80) {
        text += static_cast<char>(code);
    } else if (code < 0x800) {
        text += static_cast<char>(0xc0 | code >> 6);
        text += static_cast<char>(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        text += static_cast<char>(0xe0 | code >> 12);
        text += static_cast<char>(0x80 | (code >> 6 & 0x3f));
        text += static_cast<char>(0x80 | (code & 0x3f));
    } else {
        text += static_cast<char>(0xf0 | code >> 18);
        text += static_cast<char>(0x80 | (code >> 12 & 0x3f));
        text += static_cast<char>(0x80 | (code >> 6 & 0x3f));
        text += static_cast<char>(0x80 | (code & 0x3f));
    }
}

// Every second byte of text in UTF-16 is NUL where the language is written in Latin letters.
bool nul_at(std::string_view head, std::size_t odd) {
    std::size_t nuls = 0, all = 0;
    for (std::size_t i = odd; i < head.size() && i < 512; i += 2) ++all, nuls += head[i] == '\0';
    return all >= 8 && nuls * 10 > all * 8;
}

}  // namespace

scenarios::Result<std::unique_ptr<TextSource>> TextSource::open(const std::filesystem::path& file,
                                                                Clock::time_point deadline) {
    std::unique_ptr<TextSource> source(new TextSource);
    source->deadline_ = deadline;
    const bool standard = file == "-";
    // Opening a named pipe waits for its writer otherwise.
    source->fd_ = standard ? ::dup(0) : ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (source->fd_ < 0) {
        return scenarios::refuse(ErrorCode::io, fmt::format("it cannot be opened: {}", std::strerror(errno)),
                                 "name a file that can be read", {file.string()});
    }
    struct stat what {};
    const bool known = ::fstat(source->fd_, &what) == 0;
    if (known && S_ISREG(what.st_mode)) source->packed_size_ = what.st_size;
    if (known && !standard &&
        (S_ISBLK(what.st_mode) || (S_ISCHR(what.st_mode) && ::isatty(source->fd_) == 0))) {
        return scenarios::refuse(ErrorCode::io, "it is a device, not a log", "name a file", {file.string()});
    }
    if (known && S_ISFIFO(what.st_mode)) {  // its writer may not have come yet
        pollfd pipe{source->fd_, POLLIN, 0};
        ::poll(&pipe, 1, pipe_patience);
    }
    source->head_ = source->read_head();
    for (const Packing& packing : packings) {
        if (!source->head_.starts_with(packing.magic)) continue;
        auto unpacked = std::make_unique<io::filtering_istreambuf>();
        packing.unpack(*unpacked);
        unpacked->push(Packed(std::move(source->head_), source->fd_, deadline));
        source->unpacked_ = std::move(unpacked), source->packing_ = packing.name;
        source->head_ = source->read_head();
        break;
    }
    const std::string_view head = source->head_;
    if (head.starts_with("\xff\xfe") || nul_at(head, 1))
        source->coding_ = Coding::utf16_little;
    else if (head.starts_with("\xfe\xff") || nul_at(head, 0))
        source->coding_ = Coding::utf16_big;
    return source;
}

TextSource::~TextSource() { close(); }

void TextSource::close() {
    unpacked_.reset();
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
}

std::int64_t TextSource::read(char* into, std::size_t count) {
    std::int64_t got = 0;
    if (!is_over(deadline_)) got = unpacked_ ? unpack(into, count) : read_some(fd_, into, count, deadline_);
    if (got > 0 || !is_over(deadline_)) return got;
    trouble_ = fmt::format("the time for reading was over after byte {}", bytes_);
    return 0;
}

std::int64_t TextSource::unpack(char* into, std::size_t count) {
    try {
        using Traits = std::streambuf::traits_type;
        if (Traits::eq_int_type(unpacked_->sgetc(), Traits::eof())) return 0;
        const auto ready =
            std::min<std::streamsize>(unpacked_->in_avail(), static_cast<std::streamsize>(count));
        const std::int64_t got = unpacked_->sgetn(into, ready);
        unpacked_size_ += got;
        if (packed_size_ >= 0 &&
            unpacked_size_ > std::max(unpacked_free, unpacked_factor_most * packed_size_)) {
            trouble_ = fmt::format("it was read up to byte {}: its {} bytes of {} data hold too many more",
                                   unpacked_size_, packed_size_, packing_);
            return 0;
        }
        return got;
    } catch (const std::ios_base::failure&) {
        trouble_ = fmt::format("its {} data is damaged or cut; what came before is kept", packing_);
        return 0;
    }
}

// A pipe delivers its bytes in pieces.
std::string TextSource::read_head() {
    std::string head(block, '\0');
    std::size_t have = 0;
    while (have < head.size()) {
        const std::int64_t got = read(head.data() + have, head.size() - have);
        if (got <= 0) break;
        have += static_cast<std::size_t>(got);
    }
    head.resize(have);
    return head;
}

bool TextSource::binary() const {
    using namespace std::string_view_literals;
    // Programs, archives and pictures.
    for (const std::string_view magic : {"\177ELF"sv, "PK\x03\x04"sv, "\x89PNG"sv})
        if (std::string_view(head_).starts_with(magic)) return true;
    if (coding_ != Coding::bytes) return false;
    // Text may contain NULs where a disk lost its pages, but hardly any other control bytes.
    std::size_t strange = 0, nuls = 0;
    for (const char c : head_) {
        const auto byte = static_cast<unsigned char>(c);
        nuls += c == '\0';
        strange += c != '\0' && byte < 32 && c != '\n' && c != '\r' && c != '\t' && c != '\x1b' &&
                   c != '\b' && c != '\f';
    }
    return strange * 20 > head_.size() - nuls || nuls * 2 > head_.size();
}

std::string TextSource::all(std::size_t most) {
    std::string bytes = head_;
    std::string piece(block, '\0');
    for (std::int64_t got = 1; got > 0 && bytes.size() <= most;) {
        got = read(piece.data(), piece.size());
        if (got > 0) bytes.append(piece, 0, static_cast<std::size_t>(got));
    }
    ended_ = bytes.size() <= most;
    close();
    bytes_ = static_cast<std::int64_t>(bytes.size());
    return bytes.size() > most ? std::string() : bytes;
}

void TextSource::decode(std::string_view raw) {
    if (coding_ == Coding::bytes) {
        for (const char c : raw) {
            if (c != '\0') text_ += c;
        }
        return;
    }
    carried_ += raw;
    std::size_t i = 0;
    const auto unit = [&](std::size_t at) {
        const auto first = static_cast<unsigned char>(carried_[at]),
                   second = static_cast<unsigned char>(carried_[at + 1]);
        return static_cast<std::uint32_t>(coding_ == Coding::utf16_little ? second << 8 | first
                                                                          : first << 8 | second);
    };
    for (; i + 1 < carried_.size(); i += 2) {
        std::uint32_t code = unit(i);
        if (code >= 0xd800 && code < 0xdc00) {
            if (i + 3 >= carried_.size()) break;
            code = 0x10000 + ((code - 0xd800) << 10) + ((unit(i + 2) - 0xdc00) & 0x3ff);
            i += 2;
        }
        if (code != 0xfeff && code != 0) append_utf8(text_, code);
    }
    carried_.erase(0, i);
}

bool TextSource::fill() {
    text_.erase(0, at_);
    at_ = 0;
    if (!head_given_) {
        head_given_ = true;
        bytes_ += static_cast<std::int64_t>(head_.size());
        std::string_view raw = head_;
        if (raw.starts_with("\xef\xbb\xbf")) raw.remove_prefix(3);
        decode(raw);
        if (!head_.empty()) return true;
    }
    if (ended_) return false;
    std::string piece(block, '\0');
    const std::int64_t got = read(piece.data(), piece.size());
    if (got <= 0) {
        if (got < 0) trouble_ = fmt::format("reading stopped: {}", std::strerror(errno));
        ended_ = true;
        close();
        return false;
    }
    bytes_ += got;
    decode(std::string_view(piece).substr(0, static_cast<std::size_t>(got)));
    return true;
}

bool TextSource::next(std::string& line) {
    for (;;) {
        if (after_return_ && at_ < text_.size()) {
            at_ += text_[at_] == '\n';
            after_return_ = false;
        }
        const std::size_t end = text_.find_first_of("\n\r", at_);
        if (end != text_.npos) {
            line.assign(text_, at_, end - at_);
            after_return_ = text_[end] == '\r';
            at_ = end + 1;
            return true;
        }
        const std::size_t left = text_.size() - at_;
        if (left >= longest_line || !fill()) {
            if (left == 0) return false;
            line.assign(text_, at_, left);
            at_ = text_.size();
            return true;
        }
    }
}

}  // namespace deadrank::results::importers
