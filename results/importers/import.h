// results/importers/import.h — A real incident's files turned into evidence: Flight Recorder dumps, NCCL
// logs, ranks' and launchers' output, kernel logs, RAS answers, packed or not. A file's kind is recognised by
// its content.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "results/record/evidence.h"

namespace deadrank::results::importers {

struct ImportedFile {
    std::filesystem::path file;
    std::string as;       // "Flight Recorder dump of rank 3"; empty when it was not recognised
    std::string trouble;  // why it could not be read, or could only be read in part
    bool empty = false;   // it has no byte
};

struct Imported {
    Evidence evidence;                // its zero is the earliest time in any file
    std::int64_t zero = 0;            // nanoseconds since 1970
    std::vector<ImportedFile> files;  // in order of name
    std::vector<std::string> lacks;   // what no file contains, and what that costs
};

constexpr std::chrono::seconds read_for_usual = std::chrono::minutes(10);

struct ImportOptions {
    std::chrono::nanoseconds read_for = read_for_usual;  // what comes later is left out, and a note says so
    std::optional<std::int64_t> observed_until;  // nanoseconds since 1970; else the newest file or line
    // Called at intervals while a large file is read: the file, and its bytes so far.
    std::function<void(const std::filesystem::path&, std::int64_t)> progress = {};
};

// Files, directories in any depth, or "-" for standard input. At most 100,000 files, and dumps of 1 GiB.
// Errors: io, when one of them does not exist;
// bad_input, when nothing in them is a log or a dump.
scenarios::Result<Imported> import_paths(const std::vector<std::filesystem::path>& paths,
                                         const ImportOptions& options = {});

}  // namespace deadrank::results::importers
