// runners/backends/process/scratch.h — The directory of one real run's raw files; removed at the end when
// nobody asked to keep it, and journalled, so that a killed run's is removed by `deadrank undo`.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runners/backends/process/journal.h"

namespace deadrank::runners {

class Scratch {
public:
    // `kept`: where the caller wants it; empty = somewhere, for the time of the run. Errors: io.
    static scenarios::Result<Scratch> make(const std::filesystem::path& kept,
                                           const std::vector<std::string>& parts);
    Scratch(Scratch&& other) noexcept;
    Scratch& operator=(Scratch&&) = delete;
    ~Scratch();

    const std::filesystem::path& path() const { return path_; }

private:
    Scratch(std::filesystem::path path, bool keep) : path_(std::move(path)), keep_(keep) {}

    std::filesystem::path path_;
    bool keep_;
    std::optional<Journal> journal_;
    std::optional<Journal::Entry> litter_;
};

}  // namespace deadrank::runners
