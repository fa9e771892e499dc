// results/emitters/emitter_catalog.h — Every emitter by name, and the files that it makes.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "results/emitters/snapshot.h"
#include "results/record/time.h"
#include "scenarios/model/error.h"

namespace deadrank::results::emitters {

// What an emitter gives: files by name, below a directory that the caller chooses.
struct EmittedFile {
    std::string name;  // relative, may have directories
    std::string bytes;
};

// Writes in the order given, in which some file systems then list them. `taken`: the moment of the run with
// which the files are dated, as on a real machine; `never` leaves the clock's. Errors: io.
scenarios::Result<void> write_files(const std::vector<EmittedFile>& files,
                                    const std::filesystem::path& directory, Time taken = never);

// The formats that a run can be written in, by name, for the tools that read them.
struct Emitter {
    std::string_view name;
    std::string_view what;  // which files, for whom
    std::vector<EmittedFile> (*emit)(const Evidence& evidence, const Snapshot& snapshot);
};

// In the order of `deadrank score emit --list`.
const std::vector<Emitter>& all_emitters();
const Emitter* find_emitter(std::string_view name);

}  // namespace deadrank::results::emitters
