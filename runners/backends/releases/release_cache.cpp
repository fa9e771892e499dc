// runners/backends/releases/release_cache.cpp — pip installs into a temporary directory; a rename completes
// it. What a killed run left is removed by the next one that holds the lock.
#include "runners/backends/releases/release_cache.h"

#include <chrono>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>

#include "results/processes/bounded.h"
#include "results/record/text_file.h"
#include "runners/backends/releases/pip.h"

namespace deadrank::runners {

namespace fs = std::filesystem;
using scenarios::ErrorCode;
using scenarios::Pin;
using scenarios::refuse;

namespace {

// Disk space that is left free, whatever is prepared.
constexpr std::int64_t room_left = 256'000'000;

constexpr const char* unfinished = ".part";

scenarios::Result<void> check_room(const fs::path& place, std::int64_t needed) {
    std::error_code trouble;
    const fs::space_info room = fs::space(place, trouble);
    if (trouble || static_cast<std::int64_t>(room.available) >= needed + room_left) return {};
    return refuse(ErrorCode::environment,
                  fmt::format("{} of releases do not fit: {} has {} left, and {} are kept free",
                              size_text(needed), place.string(),
                              size_text(static_cast<std::int64_t>(room.available)), size_text(room_left)),
                  "make room, or name another place with XDG_CACHE_HOME");
}

scenarios::Result<void> make_place(const fs::path& place) {
    std::error_code trouble;
    fs::create_directories(place, trouble);
    if (trouble)
        return refuse(ErrorCode::io, fmt::format("{} cannot be made: {}", place.string(), trouble.message()),
                      "name another place with XDG_CACHE_HOME");
    return {};
}

// Removes half-made directories of dead runs: while we hold the lock, no other run is at work.
void clear_unfinished(const fs::path& place) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(place, ignored)) {
        if (entry.path().filename().string().ends_with(unfinished)) fs::remove_all(entry.path(), ignored);
    }
}

scenarios::Result<void> finish(const fs::path& part, const fs::path& whole) {
    std::error_code trouble;
    fs::rename(part, whole, trouble);
    if (!trouble) return {};
    return refuse(ErrorCode::io, fmt::format("{} cannot be named: {}", whole.string(), trouble.message()),
                  "run it again");
}

}  // namespace

fs::path ReleaseCache::usual_place() {
    const char* cache = std::getenv("XDG_CACHE_HOME");
    const char* home = std::getenv("HOME");
    const fs::path base = cache && *cache ? fs::path(cache) : fs::path(home ? home : "/tmp") / ".cache";
    return base / "deadrank" / "releases";
}

fs::path ReleaseCache::directory_of(const Pin& pin, const Archive& archive) const {
    return place_ / fmt::format("{}-{}-{}", pin.package, pin.version, archive.sha256.substr(0, 8));
}

bool ReleaseCache::has(const Pin& pin, const Archive& archive) const {
    std::error_code ignored;
    return fs::is_directory(directory_of(pin, archive), ignored);
}

scenarios::Result<void> ReleaseCache::prepare(const std::vector<Pin>& wanted, const Pins& pins,
                                              const Python& python, const ProgressSink& say,
                                              const std::atomic<bool>* stop) const {
    if (auto made = make_place(place_); !made) return made;
    const auto turn = Turn::take(place_, say, stop);
    if (!turn) return tl::unexpected(turn.error());
    clear_unfinished(place_);
    std::vector<Pin> missing;
    std::int64_t bytes = 0;
    for (const Pin& pin : wanted) {
        const auto known = pins.find(pin);
        if (known == pins.end())
            return refuse(ErrorCode::bad_input, fmt::format("{} is not pinned", pin.text()),
                          "`deadrank report releases --pin` asks the index for its hash");
        if (has(pin, known->second)) continue;
        if (const std::string why = known->second.refused_by(interpreter_version(python)); !why.empty())
            return refuse(ErrorCode::environment, why, "name a Python of that version in DEADRANK_PYTHON");
        missing.push_back(pin);
        bytes += known->second.bytes;
    }
    if (auto room = check_room(place_, bytes); !room) return room;
    for (const Pin& pin : missing) {
        const Archive& archive = pins.at(pin);
        say(fmt::format("{} ({}, {:.0f} s)", pin.text(), size_text(archive.bytes),
                        static_cast<double>(archive.milliseconds) / 1e3));
        const fs::path whole = directory_of(pin, archive);
        const fs::path part = whole.string() + unfinished;
        const fs::path list = part.string() + ".txt";
        if (auto written =
                results::write_text(fmt::format("{} --hash=sha256:{}\n", pin.text(), archive.sha256), list);
            !written)
            return written;
        auto installed = install(python, list, part, stop);
        std::error_code ignored;
        fs::remove(list, ignored);
        if (!installed) {
            fs::remove_all(part, ignored);
            return installed;
        }
        if (auto done = finish(part, whole); !done) return done;
    }
    return {};
}

scenarios::Result<Archive> ReleaseCache::pin(const Pin& pin, const Python& python,
                                             const std::atomic<bool>* stop) const {
    if (auto made = make_place(place_); !made) return tl::unexpected(made.error());
    auto archive = query_index(python, pin, stop);
    if (!archive) return archive;
    const auto begin = std::chrono::steady_clock::now();
    const Pins one = {{pin, *archive}};
    if (auto made = prepare(
            {pin}, one, python, [](const std::string&) {}, stop);
        !made)
        return tl::unexpected(made.error());
    archive->milliseconds =
        std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin)
            .count();
    archive->bytes = size_of(directory_of(pin, *archive));
    return archive;
}

scenarios::Result<fs::path> ReleaseCache::find(const Pin& pin, const Pins& pins) const {
    const auto known = pins.find(pin);
    if (known == pins.end())
        return refuse(ErrorCode::environment, fmt::format("{} is not pinned", pin.text()),
                      "`deadrank report releases --pin` asks the index for its hash");
    if (has(pin, known->second)) return directory_of(pin, known->second);
    return refuse(
        ErrorCode::environment, fmt::format("{} is not on this machine", pin.text()),
        "`deadrank report releases --prepare all` fetches it from the package index; a run needs no network");
}

std::int64_t size_of(const fs::path& directory) {
    std::int64_t bytes = 0;
    std::error_code ignored;
    for (const auto& entry : fs::recursive_directory_iterator(directory, ignored)) {
        if (entry.is_regular_file(ignored)) bytes += static_cast<std::int64_t>(entry.file_size(ignored));
    }
    return bytes;
}

}  // namespace deadrank::runners
