// runners/backends/ranks/meeting_place.cpp — link() is the claim and rename() the change: both happen at
// once.
#include "runners/backends/ranks/meeting_place.h"

#include <cctype>
#include <charconv>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <sys/file.h>
#include <unistd.h>

namespace deadrank::runners {

namespace fs = std::filesystem;

namespace {

// Keys hold slashes and colons; a file's name may not.
std::string escaped(std::string_view name) {
    std::string safe = "k";
    for (const char letter : name) {
        const bool plain = std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_';
        safe += plain ? std::string(1, letter) : fmt::format("%{:02x}", static_cast<unsigned char>(letter));
    }
    return safe;
}

std::string read_whole(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

// Beside its place, under a name that no other process has.
fs::path write_aside(const fs::path& file, std::string_view text) {
    const fs::path aside = fmt::format("{}.{}", file.string(), getpid());
    std::ofstream(aside, std::ios::binary) << text;
    return aside;
}

}  // namespace

MeetingPlace::MeetingPlace(fs::path directory) : directory_(std::move(directory)) {
    std::error_code ignored;
    fs::create_directories(directory_, ignored);
}

fs::path MeetingPlace::file(std::string_view name) const { return directory_ / escaped(name); }

MeetingPlace MeetingPlace::within(std::string_view name) const { return MeetingPlace(file(name)); }

bool MeetingPlace::claim(std::string_view name, std::string_view text) const {
    const fs::path aside = write_aside(file(name), text);
    const bool first = ::link(aside.c_str(), file(name).c_str()) == 0;
    ::unlink(aside.c_str());
    return first;
}

void MeetingPlace::set(std::string_view name, std::string_view text) const {
    std::error_code ignored;
    fs::rename(write_aside(file(name), text), file(name), ignored);
}

std::optional<std::string> MeetingPlace::get(std::string_view name) const {
    if (::access(file(name).c_str(), R_OK) != 0) return std::nullopt;
    return read_whole(file(name));
}

std::int64_t MeetingPlace::add(std::string_view name, std::int64_t amount) const {
    const int lock = ::open((file(name).string() + ".lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    ::flock(lock, LOCK_EX);
    const std::string text = get(name).value_or("0");
    std::int64_t sum = 0;
    std::from_chars(text.data(), text.data() + text.size(), sum);
    set(name, std::to_string(sum += amount));
    ::close(lock);
    return sum;
}

}  // namespace deadrank::runners
