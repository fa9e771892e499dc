// results/record/text_file.h — Writes a text to disk; an error names the file and a remedy.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "scenarios/model/error.h"

namespace deadrank::results {

// Creates a missing directory; writes beside the file and renames, so that a reader never sees half a file.
// Errors: io.
scenarios::Result<void> write_text(std::string_view text, const std::filesystem::path& file);

// ── A name that evidence, a plan, a log or a rule states never becomes a path unchecked.

// The name as one part of a path: "node7" stays, "../x" becomes "..%2Fx". Names that differ stay different.
std::string file_name_of(std::string_view name);

// The same for a name with parts, each of them: "data/loader_stalls" stays, "../../etc" becomes
// "%2E%2E/%2E%2E/etc".
std::filesystem::path relative_path_of(std::string_view name);

// directory / name. Errors: bad_input, if the name leads out of the directory.
scenarios::Result<std::filesystem::path> path_below(const std::filesystem::path& directory,
                                                    std::string_view name);

}  // namespace deadrank::results
