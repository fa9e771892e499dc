// runners/backends/releases/release_cache.h — Published releases on this machine: each in its own directory,
// put before a Python's packages by PYTHONPATH, so that two releases of one package share everything else.
// Installed once, from the package index; a run needs no network.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "runners/backends/process/mpirun.h"
#include "runners/backends/releases/pins.h"

namespace deadrank::runners {

// Takes one line of progress for the user.
using ProgressSink = std::function<void(const std::string&)>;

class ReleaseCache {
public:
    // $XDG_CACHE_HOME/deadrank/releases, else ~/.cache/deadrank/releases.
    static std::filesystem::path usual_place();

    explicit ReleaseCache(std::filesystem::path place = usual_place()) : place_(std::move(place)) {}

    const std::filesystem::path& place() const { return place_; }
    std::filesystem::path directory_of(const scenarios::Pin& pin, const Archive& archive) const;

    // Has it whole: an interrupted installation never gets this name.
    bool has(const scenarios::Pin& pin, const Archive& archive) const;

    // Installs what is missing, one after the other, under a lock. Errors: environment (no network, gone from
    // the index, wrong interpreter, disk full), io. Never leaves anything half-made under a name that a run
    // looks for.
    scenarios::Result<void> prepare(const std::vector<scenarios::Pin>& wanted, const Pins& pins,
                                    const Python& python, const ProgressSink& say,
                                    const std::atomic<bool>* stop = nullptr) const;

    // Asks the index for a release that is not pinned yet, and installs it. Errors: those of prepare.
    scenarios::Result<Archive> pin(const scenarios::Pin& pin, const Python& python,
                                   const std::atomic<bool>* stop = nullptr) const;

    // The directory of the release. Errors: environment, naming the command that prepares it.
    scenarios::Result<std::filesystem::path> find(const scenarios::Pin& pin, const Pins& pins) const;

private:
    std::filesystem::path place_;
};

// Bytes below a directory.
std::int64_t size_of(const std::filesystem::path& directory);

}  // namespace deadrank::runners
