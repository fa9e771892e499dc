// results/importers/text_source.cpp — Unpacking is left to the usual programs: a child process reads the file
// and we read its output, so a damaged archive cannot harm this process.
#include "results/importers/text_source.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace deadrank::results::importers {

namespace {

using scenarios::ErrorCode;

constexpr std::size_t block = 1 << 16, longest_line = 1 << 16;

struct Packing {
    std::string_view magic;
    const char* program;
};
constexpr Packing packings[] = {{"\x1f\x8b", "gzip"},
                                {std::string_view("\xfd"
                                                  "7zXZ",
                                                  5),
                                 "xz"},
                                {"\x28\xb5\x2f\xfd", "zstd"},
                                {"BZh", "bzip2"}};

ssize_t read_some(int fd, char* into, std::size_t count) {
    ssize_t got = 0;
    do got = ::read(fd, into, count);
    while (got < 0 && errno == EINTR);
    return got;
}

// Reads up to `most` bytes: a pipe delivers them in pieces.
std::string read_head(int fd, std::size_t most) {
    std::string head(most, '\0');
    std::size_t have = 0;
    while (have < most) {
        const ssize_t got = read_some(fd, head.data() + have, most - have);
        if (got <= 0) break;
        have += static_cast<std::size_t>(got);
    }
    head.resize(have);
    return head;
}

// Returns a descriptor of the program's output; -1 when there is no such program.
int unpack(const char* program, int from, int& child) {
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0) return -1;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, from, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    std::string name(program), option("-dc");
    char* arguments[] = {name.data(), option.data(), nullptr};
    pid_t pid = -1;
    const int failed = posix_spawnp(&pid, program, &actions, nullptr, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    if (failed == 0) {
        child = pid;
        return ends[0];
    }
    ::close(ends[0]);
    return -1;
}

// Copies all of a pipe into an unnamed file, to be read from its beginning; -1 when there is no space for it.
int spooled(int pipe, std::string_view head) {
    std::FILE* file = std::tmpfile();
    if (file == nullptr) return -1;
    const int spool = ::fcntl(::fileno(file), F_DUPFD_CLOEXEC, 0);
    std::string bytes(head);
    while (spool >= 0 && !bytes.empty() && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size())
        bytes = read_head(pipe, block);
    const bool whole = spool >= 0 && bytes.empty() && std::fflush(file) == 0;
    std::fclose(file);
    if (whole && ::lseek(spool, 0, SEEK_SET) == 0) return spool;
    if (spool >= 0) ::close(spool);
    return -1;
}

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

scenarios::Result<std::unique_ptr<TextSource>> TextSource::open(const std::filesystem::path& file) {
    std::unique_ptr<TextSource> source(new TextSource);
    const bool standard = file == "-";
    source->fd_ = standard ? ::dup(0) : ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (source->fd_ < 0) {
        return scenarios::refuse(ErrorCode::io, fmt::format("it cannot be opened: {}", std::strerror(errno)),
                                 "name a file that can be read", {file.string()});
    }
    source->head_ = read_head(source->fd_, block);
    for (const Packing& packing : packings) {
        if (!source->head_.starts_with(packing.magic)) continue;
        if (::lseek(source->fd_, 0, SEEK_SET) != 0) {  // a pipe: the unpacker has to see its head as well
            const int spool = spooled(source->fd_, source->head_);
            if (spool < 0) {
                return scenarios::refuse(ErrorCode::io, "the temporary directory has no place for it",
                                         fmt::format("unpack it first: {} -dc", packing.program),
                                         {file.string()});
            }
            ::close(source->fd_);
            source->fd_ = spool;
        }
        const int unpacked = unpack(packing.program, source->fd_, source->child_);
        if (unpacked < 0) {
            return scenarios::refuse(
                ErrorCode::io,
                fmt::format("it is packed with {0}, and {0} cannot be run on it here", packing.program),
                fmt::format("unpack it first: {} -dc", packing.program), {file.string()});
        }
        ::close(source->fd_);
        source->fd_ = unpacked, source->unpacker_ = packing.program;
        source->head_ = read_head(unpacked, block);
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
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
    if (child_ < 0) return;
    int status = 0;
    while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
    }
    child_ = -1;
    if (ended_ && status != 0)
        trouble_ = fmt::format("{} says that it is damaged or cut; what came before is kept", unpacker_);
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
    for (ssize_t got = 1; got > 0 && bytes.size() <= most;) {
        got = read_some(fd_, piece.data(), piece.size());
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
    const ssize_t got = read_some(fd_, piece.data(), piece.size());
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
