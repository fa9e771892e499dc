// results/importers/import.h — A real incident's files turned into evidence: Flight Recorder dumps, NCCL
// logs, ranks' output, torchrun's files, kernel logs, RAS answers. What each file is, is seen from its
// content.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "results/record/evidence.h"

namespace deadrank::results::importers {

struct ImportedFile {
    std::filesystem::path file;
    std::string as;       // "Flight Recorder dump of rank 3"; empty when it was nothing that we know
    std::string trouble;  // why it could not be read, or could only be read in part
};

struct Imported {
    Evidence evidence;                // its zero is the earliest time that any file names
    std::int64_t zero = 0;            // nanoseconds since 1970
    std::vector<ImportedFile> files;  // in order of name
    std::vector<std::string> lacks;   // what no file said, and what that costs
};

struct ImportOptions {
    std::optional<std::int64_t> observed_until;  // nanoseconds since 1970; else the newest file or line
};

// Errors: io, when there is no such directory; bad_input, when nothing in it is of any use.
scenarios::Result<Imported> import_directory(const std::filesystem::path& directory,
                                             const ImportOptions& options = {});

}  // namespace deadrank::results::importers
