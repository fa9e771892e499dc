// inject/core/kept.cpp — Shared by the libraries inside a job and the program outside, so it needs libc
// alone.
#include "inject/core/kept.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <linux/fs.h>
#include <memory>
#include <sys/ioctl.h>
#include <unistd.h>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace deadrank::inject {

namespace {

constexpr std::array<std::string_view, 5> state_names = {"absent", "file", "link", "directory", "unkept"};
constexpr std::string_view digits = "0123456789abcdef";
constexpr std::size_t part = 1 << 20;

// A space separates the words of a line, so it is escaped, like every unprintable byte.
std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte > 0x20 && byte < 0x7f && byte != '%') {
            out += c;
        } else {
            out += '%';
            out += digits[byte >> 4];
            out += digits[byte & 15];
        }
    }
    return out.empty() ? "%" : out;
}

std::string plain(std::string_view text) {
    std::string out;
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] != '%') {
            out += text[at];
        } else if (at + 2 < text.size()) {
            const auto high = digits.find(text[at + 1]), low = digits.find(text[at + 2]);
            out += static_cast<char>(high * 16 + low);
            at += 2;
        }
    }
    return out;
}

template <class Number>
bool read(std::string_view word, Number& number) {
    return std::from_chars(word.data(), word.data() + word.size(), number).ptr == word.data() + word.size();
}

class Digest {
public:
    Digest() { XXH3_128bits_reset(state_.get()); }
    void add(const char* data, std::size_t bytes) { XXH3_128bits_update(state_.get(), data, bytes); }
    std::string text() const {
        XXH128_canonical_t bytes;
        XXH128_canonicalFromHash(&bytes, XXH3_128bits_digest(state_.get()));
        std::string out;
        for (const unsigned char byte : bytes.digest) {
            out += digits[byte >> 4];
            out += digits[byte & 15];
        }
        return out;
    }

private:
    std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state_{XXH3_createState(), XXH3_freeState};
};

constexpr off_t long_hole = off_t{64} << 20;

// How far a long hole reaches from there: a file of terabytes may hold a few bytes. 0 where there is none.
off_t hole_at(int file, off_t at) {
    const off_t data = ::lseek(file, at, SEEK_DATA);
    const off_t end = data < 0 && errno == ENXIO ? ::lseek(file, 0, SEEK_END) : data;
    return end - at >= long_hole ? end - at : 0;
}

// `to` < 0: only read. Of a long hole the digest knows the length alone, and the copy has it as well.
int pass_through(int from, int to, std::string& digest) {
    Digest sum;
    std::vector<char> buffer(part);
    for (off_t at = 0;;) {
        if (const off_t hole = hole_at(from, at); hole > 0) {
            sum.add(reinterpret_cast<const char*>(&hole), sizeof hole);
            at += hole;
            if (to >= 0 && ::ftruncate(to, at) != 0) return errno;
        }
        const ssize_t got = ::pread(from, buffer.data(), buffer.size(), at);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return errno;
        if (got == 0) break;
        sum.add(buffer.data(), static_cast<std::size_t>(got));
        for (ssize_t done = 0; to >= 0 && done < got;) {
            const ssize_t put =
                ::pwrite(to, buffer.data() + done, static_cast<std::size_t>(got - done), at + done);
            if (put < 0 && errno != EINTR) return errno;
            done += put > 0 ? put : 0;
        }
        at += got;
    }
    digest = sum.text();
    return 0;
}

}  // namespace

std::string line_of(const Kept& kept) {
    std::string line(state_names.at(static_cast<std::size_t>(kept.what)));
    for (const std::string& word :
         {escaped(kept.path), escaped(kept.copy), escaped(kept.digest), std::to_string(kept.mode),
          std::to_string(kept.written), std::to_string(kept.device), std::to_string(kept.inode)})
        line += " " + word;
    return line + "\n";
}

std::optional<Kept> kept_in(std::string_view line) {
    std::vector<std::string_view> words;
    for (std::size_t at = 0; at <= line.size();) {
        const std::size_t end = std::min(line.find(' ', at), line.size());
        words.push_back(line.substr(at, end - at));
        at = end + 1;
    }
    if (words.size() != 8) return std::nullopt;
    Kept kept{.path = plain(words[1]), .copy = plain(words[2]), .digest = plain(words[3])};
    bool known = false;
    for (std::size_t i = 0; i < state_names.size(); ++i) {
        if (state_names.at(i) != words[0]) continue;
        kept.what = static_cast<Kept::What>(i);
        known = true;
    }
    if (!known || !read(words[4], kept.mode) || !read(words[5], kept.written) ||
        !read(words[6], kept.device) || !read(words[7], kept.inode) || !kept.path.starts_with('/'))
        return std::nullopt;
    return kept;
}

std::string digest_of(int descriptor) {
    std::string digest;
    return pass_through(descriptor, -1, digest) == 0 ? digest : "";
}

// Where the file system can share the blocks of two files, the copy takes no space.
int copy_content(int from, int to, std::string& digest) {
    const bool shared = ::ioctl(to, FICLONE, from) == 0;
    return pass_through(from, shared ? -1 : to, digest);
}

}  // namespace deadrank::inject
