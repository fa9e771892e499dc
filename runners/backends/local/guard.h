// runners/backends/local/guard.h — A program that is not ours writes where it likes. Its processes copy what
// they are about to change; when they are gone all of it is given back, so that no run feeds the next one and
// the user's files are what they were.
#pragma once

#include <atomic>
#include <filesystem>
#include <optional>
#include <string>

#include "runners/backends/local/manifest.h"
#include "runners/backends/process/journal.h"
#include "runners/backends/process/kept_files.h"

namespace deadrank::runners {

// Does it lie somewhere else than our own subjects?
bool is_theirs(const Manifest& manifest, const std::filesystem::path& home);

class Guard {
public:
    // Waits until no other run of a program in this directory is going on. Errors: environment (what a killed
    // run left is not undone yet), unsupported (no library to do it with), io.
    static scenarios::Result<Guard> begin(const Manifest& manifest, const std::atomic<bool>* stop);
    Guard(Guard&& other) noexcept;
    Guard& operator=(Guard&&) = delete;
    ~Guard();

    const std::filesystem::path& directory() const { return directory_; }  // for DEADRANK_KEPT

    // Every process of the job is gone. Errors: io, with the file and the place of its copy.
    scenarios::Result<GivenBack> end();

private:
    Guard(std::filesystem::path directory, int lock) : directory_(std::move(directory)), lock_(lock) {}

    std::filesystem::path directory_;
    int lock_;
    bool ended_ = false;
    std::optional<Journal> journal_;
    std::optional<Journal::Entry> entry_;
};

}  // namespace deadrank::runners
