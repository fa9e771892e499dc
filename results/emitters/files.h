// results/emitters/files.h — What an emitter gives: files by name, below a directory that the caller chooses.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "results/record/time.h"
#include "scenarios/model/error.h"

namespace deadrank::results::emitters {

struct EmittedFile {
    std::string name;  // relative, may have directories
    std::string bytes;
};

// In the order given, which decides in which order some file systems list them. `taken`: the moment of the
// run that they are dated with, as files of a real machine would be; `never` leaves the clock's. Errors: io.
scenarios::Result<void> write_files(const std::vector<EmittedFile>& files,
                                    const std::filesystem::path& directory, Time taken = never);

}  // namespace deadrank::results::emitters
