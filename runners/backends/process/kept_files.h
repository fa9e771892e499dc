// runners/backends/process/kept_files.h — Restores what a job changed: its processes list files and names,
// with copies, before they change them (inject/core/kept.h). What somebody else wrote since then is left
// alone.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "runners/backends/process/journal.h"

namespace deadrank::runners {

// Creates an empty list in a new directory, beside the journals. Errors: io.
scenarios::Result<void> begin_keeping(const std::filesystem::path& directory);

// Call this when all processes of the job are gone: later writes count as somebody else's.
void end_keeping(const std::filesystem::path& directory);

// Does the list have a line? Without one the job has changed nothing.
bool keeps_anything(const std::filesystem::path& directory);

// Each path that the job has changed, created or removed, in the order of the first time.
std::vector<std::filesystem::path> list_changed(const std::filesystem::path& directory);

struct RestoreResult {
    bool whole = true;  // everything that has a copy is restored, its digest checked
    std::size_t files = 0, removed = 0;
    std::vector<std::string> told;  // a sentence for each path that is not as it was
    std::string lost;               // the first of these about a file without a copy
    std::set<std::filesystem::path> directories;  // those in which the job changed something
    std::string says;
};

// Removes the directory unless a copy in it is still needed. Idempotent.
RestoreResult give_back(const std::filesystem::path& directory);

Undone restore_kept(const UndoAction& action);

}  // namespace deadrank::runners
