// runners/backends/process/scratch.cpp — On the journal first, on the disk after it.
#include "runners/backends/process/scratch.h"

#include <fmt/format.h>
#include <fstream>
#include <unistd.h>
#include <utility>

#include "runners/backends/process/journal.h"
#include "runners/backends/process/launch.h"

namespace deadrank::runners {

namespace fs = std::filesystem;

scenarios::Result<Scratch> Scratch::make(const fs::path& kept, const std::vector<std::string>& parts) {
    const bool keep = !kept.empty();
    Scratch scratch(keep ? fs::absolute(kept) / "processes"
                         : fs::temp_directory_path() / fmt::format("deadrank-{}-{}", getpid(), now()),
                    keep);
    auto journal = Journal::open();
    if (!journal) return tl::unexpected(journal.error());
    scratch.journal_.emplace(std::move(*journal));
    if (!keep) {
        auto noted = scratch.journal_->note({Deed::Undo::remove_directory, scratch.path_.string()});
        if (!noted) return tl::unexpected(noted.error());
        scratch.litter_.emplace(std::move(*noted));
    }
    std::error_code trouble, ignored;
    fs::remove_all(scratch.path_, ignored);
    fs::create_directories(scratch.path_, trouble);
    std::ofstream(scratch.path_ / ".deadrank")
        << "made by a run of deadrank; `deadrank undo` may remove it\n";
    for (const std::string& part : parts) {
        if (!trouble) fs::create_directories(scratch.path_ / part, trouble);
    }
    if (trouble) {
        return scenarios::refuse(
            scenarios::ErrorCode::io,
            fmt::format("'{}' cannot be written: {}", scratch.path_.string(), trouble.message()),
            "choose another directory with --out");
    }
    return scratch;
}

Scratch::Scratch(Scratch&& other) noexcept
    : path_(std::exchange(other.path_, {})),
      keep_(other.keep_),
      journal_(std::move(other.journal_)),
      litter_(std::move(other.litter_)) {}

Scratch::~Scratch() {
    if (path_.empty()) return;
    std::error_code ignored;
    if (!keep_) remove_marked(path_, ignored);
}

}  // namespace deadrank::runners
