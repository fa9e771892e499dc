// runners/backends/process/kept_files.h — Gives back what a job changed: files and names that its processes
// put on a list, with copies, before they changed them (inject/core/kept.h). What somebody else wrote since
// then is theirs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runners/backends/process/journal.h"

namespace deadrank::runners {

// An empty list in a new directory, beside the journals. Errors: io.
scenarios::Result<void> begin_keeping(const std::filesystem::path& directory);

// All processes of the job are gone: whatever it had on its list is as it left it.
void end_keeping(const std::filesystem::path& directory);

struct GivenBack {
    bool whole = true;  // everything that could be given back is, its digest compared
    std::size_t files = 0, removed = 0;
    std::vector<std::string> told;  // a sentence for each that is not as it was
    std::string lost;               // of which there never was a copy; the first such sentence
    std::string says;
};

// The directory goes with its last copy that is needed. Doing it twice is as good as once.
GivenBack give_back(const std::filesystem::path& directory);

Undone restore_kept(const UndoAction& action);

}  // namespace deadrank::runners
