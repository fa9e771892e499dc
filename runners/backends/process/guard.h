// runners/backends/process/guard.h — A user's program writes where it likes. Its processes copy each file
// before they change it; when they have ended, the files are restored, so that no run affects the next one or
// the user's files.
#pragma once

#include <atomic>
#include <filesystem>
#include <optional>
#include <string>

#include "runners/backends/process/journal.h"
#include "runners/backends/process/kept_files.h"

namespace deadrank::runners {

class Guard {
public:
    // Waits until no other run of a program in this directory is going on. Errors: environment (a killed run
    // has not been undone yet), unsupported (no library that copies files), io.
    static scenarios::Result<Guard> begin(const std::filesystem::path& directory,
                                          const std::atomic<bool>* stop);
    Guard(Guard&& other) noexcept;
    Guard& operator=(Guard&&) = delete;
    ~Guard();

    const std::filesystem::path& directory() const { return directory_; }  // for DEADRANK_KEPT

    // Call this when every process of the job is gone. Errors: io, with the file and where its copy is.
    scenarios::Result<RestoreResult> end();

private:
    Guard(std::filesystem::path directory, int lock) : directory_(std::move(directory)), lock_(lock) {}

    std::filesystem::path directory_;
    int lock_;
    bool ended_ = false;
    std::optional<Journal> journal_;
    std::optional<Journal::Entry> entry_;
};

}  // namespace deadrank::runners
